"""Whole applications on the providers' SDKs, as a user would write them."""
