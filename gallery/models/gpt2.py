# transformers' GPT-2 of 12 blocks, built from a config: one training step
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    vocab_size=256,
    n_positions=32,
    n_embd=48,
    n_layer=12,
    n_head=4,
    bos_token_id=0,
    eos_token_id=0,
)
model = GPT2LMHeadModel(config)
model.train()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids = torch.randint(256, (2, 16))
# %% the recorded cell
opt.zero_grad()
output = model(input_ids=ids, labels=ids)
loss = output.loss
loss.backward()
opt.step()
