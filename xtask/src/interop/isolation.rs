//! The isolation suite through a gateway, in front of agents of other SDKs.

use std::{
    fs::{self, File},
    process::Command,
};

use crate::{Result, workspace};

use super::{
    Bench,
    install::{self, Installed},
    sdk::{Extra, Sdk},
};

impl Bench {
    /// Runs the suite for every binding between gateway and agent.
    pub(super) fn isolation(&self, sdks: &[&'static Sdk]) -> Result {
        let settings = self.target.join("isolation.toml");
        let program = self.binaries.join("interop-isolation");
        fs::write(&settings, Command::new(&program).arg("settings").output()?.stdout)?;
        let (mut total, mut failed) = (0, Vec::new());
        for sdk in sdks.iter().filter(|sdk| sdk.extra != Extra::Schema) {
            eprintln!("{}: installing", sdk.name);
            let programs = match install::install(sdk, &self.sources, &self.target)? {
                Installed::Ready(programs) => programs,
                Installed::Absent(reason) => {
                    println!("{}: skipped: {reason}", sdk.name);
                    continue;
                }
            };
            let agent = self.agent(&programs, &[], &format!("{}-isolation", sdk.name))?;
            for binding in sdk.bindings() {
                let name = format!("{} {} over {binding}", sdk.name, sdk.version);
                let file = format!("{}-isolation-{}", sdk.name, binding.to_lowercase());
                let file = file.replace('+', "-");
                let mut arguments =
                    vec!["--proxy", &agent.address, "--upstream-transport", binding, "--settings"];
                arguments.push(settings.to_str().ok_or("a path that is not UTF-8")?);
                if let Some(revision) = &sdk.revision {
                    arguments.extend(["--upstream-version", revision]);
                }
                let gateway = self.serve(&file, &arguments)?;
                let address = gateway.address.trim_start_matches("http://").trim_end_matches('/');
                let log = self.log(&file);
                let ran = Command::new(&program)
                    .args([address, &name])
                    .stderr(File::create(&log)?)
                    .output()?;
                let text = String::from_utf8_lossy(&ran.stdout);
                let count = text.lines().last().unwrap_or("no responses");
                println!("isolation before {name}: {count}");
                total += count.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
                if !ran.status.success() {
                    failed.push(format!("{name}, see {}", workspace::relative(&log)));
                }
            }
        }
        println!("{total} responses in all");
        if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
    }
}
