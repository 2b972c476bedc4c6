#!/usr/bin/env python3
"""Writes attention.pt beside this file: a script that asks for an operation which libtorch 1.13 does not have. Made with
torch 2.15:  venv/bin/python tests/data/torchscript/make_attention.py"""
import pathlib

import torch


class Attention(torch.nn.Module):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = torch.nn.functional.one_hot(ids, 4).to(torch.float32)
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)


torch.jit.script(Attention()).save(str(pathlib.Path(__file__).with_name("attention.pt")))
