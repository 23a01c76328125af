"""What a GPU would be asked for by a kernel."""
