//! Free ports in place of those in the pages, so that checks disturb no other server.

use std::{collections::BTreeMap, net::TcpListener};

use crate::Result;

/// The ports that pages use.
const DOCUMENTED: [u16; 9] = [4222, 8080, 8081, 8082, 8083, 8443, 9000, 9090, 50051];

/// Free ports by documented ones.
#[derive(Debug)]
pub(super) struct Ports(BTreeMap<u16, u16>);

impl Ports {
    pub(super) fn reserve() -> Result<Self> {
        // All are bound before the first is released, so that they differ.
        let listeners: Vec<TcpListener> = DOCUMENTED
            .iter()
            .map(|_| TcpListener::bind(("127.0.0.1", 0)))
            .collect::<Result<_, _>>()?;
        let mut ports = BTreeMap::new();
        for (port, listener) in DOCUMENTED.iter().zip(&listeners) {
            ports.insert(*port, listener.local_addr()?.port());
        }
        Ok(Self(ports))
    }

    pub(super) fn of(&self, documented: u16) -> u16 {
        self.0.get(&documented).copied().unwrap_or(documented)
    }

    /// Replaces the free ports in an output by the documented ones.
    pub(super) fn restore(&self, output: &str) -> String {
        self.0.iter().fold(output.to_owned(), |text, (documented, free)| {
            text.replace(&free.to_string(), &documented.to_string())
        })
    }

    /// Replaces documented ports, where they are whole numbers behind a colon, a space or an equals sign.
    pub(super) fn replace(&self, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
            let end = rest[at..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |n| at + n);
            let before = rest[..at].chars().next_back().or(replaced.chars().next_back());
            replaced.push_str(&rest[..at]);
            let port =
                rest[at..end].parse().ok().filter(|_| before.is_some_and(|c| ": =".contains(c)));
            match port.and_then(|port: u16| self.0.get(&port)) {
                Some(free) => replaced.push_str(&free.to_string()),
                None => replaced.push_str(&rest[at..end]),
            }
            rest = &rest[end..];
        }
        replaced.push_str(rest);
        replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ports_are_replaced() {
        let ports = Ports(BTreeMap::from([(8080, 1234)]));
        let text = "http://127.0.0.1:8080/x --port 8080 18080 80801 id-8080 1.8080";
        let expected = "http://127.0.0.1:1234/x --port 1234 18080 80801 id-8080 1.8080";
        assert_eq!(ports.replace(text), expected);
    }
}
