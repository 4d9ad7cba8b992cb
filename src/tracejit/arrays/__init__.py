"""Tensors cut up, put together and chosen from by position. The functions stand in ``tracejit`` itself."""
