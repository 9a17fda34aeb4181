module a2a.example/interop/driver

go 1.25.0
