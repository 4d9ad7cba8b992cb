"""What every statement needs to be written as LLVM text: values, scalars, loads and stores."""
