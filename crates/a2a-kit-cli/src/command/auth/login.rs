//! `a2a auth login`.

use std::path::PathBuf;

use a2a_core::{AgentCard, v1::security_scheme::Scheme};
use a2a_kit_client::{
    CardReference,
    credentials::{
        AuthorizationCode, ClientCredentials, CredentialError, CredentialRequest,
        CredentialSource as _, DeviceCode, DevicePrompt, Endpoints, OAuthClient, Origin, Secret,
    },
};
use clap::{Args, ValueHint};

use super::{
    login_scheme::{LoginScheme, Wanted},
    tokens::Listed,
};
use crate::{
    agent,
    failure::{Code, Failure, chain},
    output::{Output, escaped},
    redaction::basic_forms,
    settings::{Settings, UNLIMITED, UserSecret, value},
    token::{self, ClientSecret, Flow, StoredOrigin, StoredToken, TokenStore},
    watch::within_limits,
};

#[derive(Args, Debug)]
pub(crate) struct Login {
    /// Security scheme of the card to log in for [default: the first with the flow]
    #[arg(long, value_name = "NAME")]
    scheme: Option<String>,
    /// OAuth flow [default: device if the agent offers it, else what the scheme offers]
    #[arg(long, value_name = "FLOW", value_enum)]
    flow: Option<Flow>,
    /// Client ID at the authorization server; also A2ACLI_CLIENT_ID
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// File with the client secret; alternatively A2ACLI_CLIENT_SECRET [default: public client]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    client_secret_file: Option<PathBuf>,
    /// Scope to request; repeatable [default: the scopes that the card requires]
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// Token URL, in place of the one in the card
    #[arg(long, value_name = "URL")]
    token_url: Option<String>,
    /// Device authorization URL, in place of the one in the card
    #[arg(long, value_name = "URL")]
    device_url: Option<String>,
    /// Authorization servers that may work together, as https://a.example,https://b.example: the one
    /// where you sign in, and the one that issues the token; repeatable [default: one server]
    #[arg(long, value_name = "ORIGIN", value_parser = value::origin, value_delimiter = ',')]
    oauth_origin: Vec<Origin>,
    /// Print the URL without starting a browser
    #[arg(long)]
    no_browser: bool,
}

impl Login {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        if settings.agent_card.is_none() && settings.endpoint.is_some() {
            return Err(Failure::usage("auth login needs the card of the agent")
                .with_hint("name the agent with --agent-card (-a) in place of --endpoint"));
        }
        settings.check_secret(UserSecret::SignIn)?;
        let id = self.client_id.as_ref().or(settings.client_id.as_ref()).ok_or_else(|| {
            Failure::usage("the client ID is missing")
                .with_hint("give it with --client-id or A2ACLI_CLIENT_ID")
        })?;
        let secret = self.secret(settings);
        let value = secret.as_ref().map(|secret| secret.read(settings)).transpose()?;
        if let Some(value) = &value {
            settings.redaction.add(value);
            basic_forms(id, value).iter().for_each(|pair| settings.redaction.add(pair));
        }
        // A store that can't be read must not be found out after the user has logged in.
        let store = TokenStore::of_user()?;
        store.read()?;
        store.warn_if_exposed(settings.output);

        let document = agent::document(settings).await?;
        let card = agent::origin(settings, &document.card)
            .ok_or_else(|| Failure::usage("the agent has no usable interface"))?;
        let scheme = LoginScheme::select(&document.card, self.wanted())?;
        let hosts = hosts(&document.card, &card, settings)?;
        agent::warn_of_interception(settings);

        let client = token::client(settings, id, value).and_then(|client| self.trusting(client));
        let client = client.map_err(|error| login_failure(&error))?;
        let request = CredentialRequest::new(card.clone(), &scheme.name, scheme.scheme.clone())
            .with_scopes(&scheme.scopes);
        let endpoints = self.endpoints(&client, &request);
        let endpoints = endpoints.await.map_err(|error| login_failure(&error))?;
        let flow = scheme.flow(self.wanted(), &endpoints)?;
        if flow == Flow::ClientCredentials && secret.is_none() {
            return Err(Failure::usage("--flow client-credentials needs a client secret")
                .with_hint("set A2ACLI_CLIENT_SECRET or give --client-secret-file"));
        }
        let scopes = self.scopes(&scheme, flow);
        let server = Origin::of(endpoints.token());
        if let Some(server) = &server {
            let sign_in = match flow {
                Flow::Device => endpoints.device_authorization(),
                Flow::AuthCode => endpoints.authorization(),
                Flow::ClientCredentials => None,
            };
            let sign_in = sign_in.and_then(Origin::of).filter(|one| !one.is_equivalent(server));
            let issuer = sign_in.map(|one| format!("{one}, with the token of "));
            let issuer = issuer.unwrap_or_default();
            settings
                .output
                .note(&format!("logging in at {issuer}{server} for scheme {:?}", scheme.name));
        }
        let client = client.with_endpoints(endpoints.clone()).with_scopes(&scopes);
        let granted = self.obtain(flow, client, &request, server, settings.output);
        let granted = within_limits(settings, "login", granted).await;
        let granted = granted.map_err(|failure| match failure.code {
            Code::Timeout => {
                failure.with_hint("run the command again, with a longer --timeout if needed")
            }
            _ => failure,
        })??;

        let token = StoredToken {
            card: StoredOrigin(card),
            scheme: scheme.name,
            hosts: hosts.into_iter().map(StoredOrigin).collect(),
            flow,
            client_id: id.clone(),
            client_secret: secret,
            scopes,
            token_url: endpoints.token().to_string(),
            refresh_url: endpoints.refresh().map(ToString::to_string),
            access_token: String::new(),
            refresh_token: None,
            expires_at: None,
        }
        .with_secret(&granted);
        store.lock().await?.insert(token.clone())?;
        let listed = Listed::from(&token);
        settings.output.result(&listed, |text| {
            listed.write(text);
        })
    }

    fn wanted(&self) -> Wanted<'_> {
        Wanted {
            scheme: self.scheme.as_deref(),
            flow: self.flow,
            has_token_url: self.token_url.is_some(),
            has_device_url: self.device_url.is_some(),
        }
    }

    /// Where the secret of the client is, if it has one.
    fn secret(&self, settings: &Settings) -> Option<ClientSecret> {
        match &self.client_secret_file {
            // Tokens are refreshed from other directories too.
            Some(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_error| path.clone());
                Some(ClientSecret::File(path))
            }
            None => settings.client_secret.as_ref().map(|_| ClientSecret::Environment),
        }
    }

    /// The endpoints of the card, with those of the command line in their place.
    async fn endpoints(
        &self,
        client: &OAuthClient,
        request: &CredentialRequest,
    ) -> Result<Endpoints, CredentialError> {
        let declared = client.endpoints(request).await;
        let mut endpoints = match (declared, &self.token_url) {
            (Ok(declared), None) => declared,
            (Ok(declared), Some(url)) => declared.with_token(url)?,
            (Err(CredentialError::Missing(_)), Some(url)) => Endpoints::new(url)?,
            (Err(error), _) => return Err(error),
        };
        if let Some(url) = &self.device_url {
            endpoints = endpoints.with_device_authorization(url)?;
        }
        Ok(endpoints)
    }

    /// Trusts the card, and the servers that the user names.
    fn trusting(&self, client: OAuthClient) -> Result<OAuthClient, CredentialError> {
        let urls = [&self.token_url, &self.device_url].into_iter().flatten().cloned();
        let mut named = urls.chain(self.oauth_origin.iter().map(ToString::to_string));
        let client = client.with_trusted_cards();
        named.try_fold(client, |client, origin| Ok(client.with_trusted(&origin)?))
    }

    fn scopes(&self, scheme: &LoginScheme, flow: Flow) -> Vec<String> {
        let scopes = if self.scope.is_empty() { &scheme.scopes } else { &self.scope };
        let is_user = flow != Flow::ClientCredentials;
        let is_open_id = matches!(scheme.scheme, Scheme::OpenIdConnectSecurityScheme(_));
        // Without this scope it is not an OpenID Connect request.
        if scopes.is_empty() && is_user && is_open_id {
            return vec!["openid".to_owned()];
        }
        scopes.clone()
    }

    async fn obtain(
        &self,
        flow: Flow,
        client: OAuthClient,
        request: &CredentialRequest,
        server: Option<Origin>,
        output: Output,
    ) -> Result<Secret, Failure> {
        let granted = match flow {
            Flow::Device => {
                let show = move |code: &_| show_code(code, server.as_ref(), output);
                let source = DeviceCode::new(client, show);
                source.obtain(request, None).await
            }
            Flow::AuthCode => {
                let starts_browser = !self.no_browser;
                let open = move |url: &str| open_url(url, starts_browser, output);
                // The time is limited by --timeout.
                let source = AuthorizationCode::new(client, open).with_timeout(UNLIMITED);
                source.obtain(request, None).await
            }
            Flow::ClientCredentials => ClientCredentials::new(client).obtain(request, None).await,
        };
        granted.map_err(|error| login_failure(&error))
    }
}

/// Returns the origins of the interfaces that the token may be sent to: that of the card, and those
/// of `--credential-origin`. The user vouches for all interfaces of a card in a file.
/// Errors: a failure if there is none, with the origins that were left out.
fn hosts(card: &AgentCard, origin: &Origin, settings: &Settings) -> Result<Vec<Origin>, Failure> {
    let reference = settings.agent_card.as_ref().and_then(|text| text.parse().ok());
    let is_file = matches!(reference, Some(CardReference::File(_)));
    let is_trusted = |host: &Origin| {
        is_file
            || host.is_equivalent(origin)
            || settings.credential_origins.iter().any(|one| one.is_equivalent(host))
    };
    let (mut hosts, mut others) = (Vec::<Origin>::new(), Vec::<Origin>::new());
    for interface in &card.supported_interfaces {
        let Ok(host) = interface.url.parse::<Origin>() else { continue };
        let list = if host.is_secure() && is_trusted(&host) { &mut hosts } else { &mut others };
        if !list.contains(&host) {
            list.push(host);
        }
    }
    if !hosts.is_empty() {
        return Ok(hosts);
    }
    let listed: Vec<_> = others.iter().map(ToString::to_string).collect();
    let message = format!(
        "no interface of the agent may receive a token for {origin}, the card's origin: it has {}",
        if listed.is_empty() { "none".to_owned() } else { listed.join(", ") }
    );
    let failure = Failure::new(Code::AuthFailed, message);
    Err(match others.iter().find(|other| other.is_secure()) {
        Some(other) => failure.with_hint(format!("to send it, add --credential-origin {other}")),
        None => failure.with_hint("tokens are not sent in plaintext to other machines"),
    })
}

/// Prints the code to enter on another device, and where. `server` issues the token.
fn show_code(prompt: &DevicePrompt, server: Option<&Origin>, output: Output) {
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
fn open_url(url: &str, starts_browser: bool, output: Output) {
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

/// Converts an error of an authorization server or of its URLs.
fn login_failure(error: &CredentialError) -> Failure {
    let message = format!("login failed: {}", chain(error));
    match error {
        CredentialError::Unavailable(_) => Failure::new(Code::Unreachable, message)
            .with_hint("check the URLs of the authorization server in the card"),
        CredentialError::Denied { error, .. } => {
            let failure = Failure::new(Code::AuthFailed, message);
            match error.as_str() {
                "invalid_client" | "unauthorized_client" => failure.with_hint(
                    "check --client-id, --flow and, for a confidential client, \
                     A2ACLI_CLIENT_SECRET or --client-secret-file",
                ),
                "invalid_scope" => failure.with_hint("check --scope"),
                _ => failure,
            }
        }
        CredentialError::MixedServers { sign_in, receiver, .. } => {
            Failure::new(Code::AuthFailed, message).with_hint(format!(
                "if both belong together, add --oauth-origin {sign_in},{receiver}"
            ))
        }
        CredentialError::TimedOut => Failure::new(
            Code::AuthFailed,
            "login failed: the code expired before the user authorized the login",
        ),
        CredentialError::Missing(_) => {
            Failure::usage(message).with_hint("give the URLs with --token-url and --device-url")
        }
        CredentialError::Insecure { .. } => Failure::new(Code::AuthFailed, message)
            .with_hint("secrets are only sent to https, or to http on this machine"),
        _ => Failure::new(Code::AuthFailed, message),
    }
}
