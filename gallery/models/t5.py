# transformers' T5: an encoder, and a decoder whose every block looks at what the encoder made
import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
config = T5Config(
    vocab_size=256,
    d_model=32,
    d_kv=8,
    d_ff=64,
    num_layers=4,
    num_heads=4,
    decoder_start_token_id=0,
    tie_word_embeddings=True,
)
model = T5ForConditionalGeneration(config)
model.train()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
source, target = torch.randint(256, (2, 12)), torch.randint(256, (2, 7))
# %% the recorded cell
opt.zero_grad()
output = model(input_ids=source, labels=target)
loss = output.loss
loss.backward()
opt.step()
