mod response;
mod error;
mod property;
mod request;
