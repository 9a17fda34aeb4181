//! What a user has to do to authorize a login, on stderr.

use a2a_kit_client::credentials::{DevicePrompt, Origin};

use crate::output::{Output, escaped};

/// Prints the code to enter on another device, and where. `server` issues the token.
pub(super) fn show_code(prompt: &DevicePrompt, server: Option<&Origin>, output: Output) {
    if let (Ok(page), Some(server)) = (prompt.verification_uri.parse::<Origin>(), server)
        && !page.is_equivalent(server)
    {
        output.note(&format!(
            "the page is at {page}: it gives {server} access to your account there"
        ));
    }
    output.diagnostic(&format!("Open: {}", escaped(&prompt.verification_uri)));
    output.diagnostic(&format!("Code: {}", escaped(&prompt.user_code)));
    if let Some(complete) = &prompt.verification_uri_complete {
        output.diagnostic(&format!("Or open: {}", escaped(complete)));
    }
    output.note(&format!("the code expires in {} s", prompt.expires_in.as_secs()));
}

/// Prints the URL to open, and opens it in a browser if `starts_browser`.
pub(super) fn open(url: &str, starts_browser: bool, output: Output) {
    output.diagnostic(&format!("Open: {}", escaped(url)));
    if !starts_browser {
        return;
    }
    match open::that_detached(url) {
        Ok(()) => output.note("waiting for the login in the browser"),
        Err(error) => {
            output.note(&format!("no browser was started ({error}): open the URL yourself"));
        }
    }
}
