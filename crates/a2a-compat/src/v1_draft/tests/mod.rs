mod answer;
mod error;
mod property;
mod request;
