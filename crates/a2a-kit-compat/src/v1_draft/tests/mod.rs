mod error;
mod property;
mod request;
mod response;
