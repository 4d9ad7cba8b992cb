"""Layers that make numbers of what programs read: of words, categories and images. Nothing else.

They know no training: what they learn, they learn of data by ``adapt``, before it.
"""
