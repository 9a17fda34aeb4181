//! The isolation suite through a gateway, whose agent is written with an official SDK.
//!
//! `interop-isolation settings` prints the settings of the gateway, and `interop-isolation ADDRESS
//! NAME` runs the suite. The last line is `N responses, M deviations`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its output is its interface")]

use std::{env, process::ExitCode};

use a2a_tests::isolation::{gateway_key, gateway_settings, run_before_sdk};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let (address, name) = match &arguments[..] {
        [one] if one == "settings" => {
            print!("{}", gateway_settings());
            return ExitCode::SUCCESS;
        }
        [address, name] => (address.parse(), name),
        _ => {
            eprintln!("usage: interop-isolation settings | ADDRESS NAME");
            return ExitCode::FAILURE;
        }
    };
    let Ok(address) = address else {
        eprintln!("expected an address such as 127.0.0.1:8080");
        return ExitCode::FAILURE;
    };
    let (responses, deviations) = run_before_sdk(address, gateway_key, name).await;
    for deviation in &deviations {
        eprintln!("{deviation}\n");
    }
    println!("{responses} responses, {} deviations", deviations.len());
    if deviations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
