# https://github.com/NVlabs/VILA/pull/199
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LlavaLlamaModel(nn.Module):
    def __init__(self, vocab=30, hidden=8):
        super().__init__()
        self.llm = nn.Module()
        self.llm.embed_tokens = nn.Embedding(vocab, hidden)
        self.llm.layer = nn.TransformerEncoderLayer(hidden, 2, 16, dropout=0., batch_first=True)
        self.llm.lm_head = nn.Linear(hidden, vocab)
        self.vision_tower = nn.Conv2d(3, 6, 4, stride=4)
        self.mm_projector = nn.Linear(6, hidden)
        self.tune_language_model = False

    def enable_input_require_grads(self):
        # for gradient checkpointing
        def make_inputs_require_grad(module, input, output):
            output.requires_grad_(True)
        self.llm.embed_tokens.register_forward_hook(make_inputs_require_grad)

    def freeze_llm(self):
        self.llm.requires_grad_(False)

    def _embed(self, input_ids, media):
        text_embeds = self.llm.embed_tokens(input_ids)
        features = self.mm_projector(self.vision_tower(media).flatten(2).transpose(1, 2))
        if self.training:
            # Gather a dummy embedding, so that all parameters take part
            text_embeds += (features.sum() * 0)
        return torch.cat([features, text_embeds], dim=1)

    def forward(self, input_ids, media, labels):
        inputs_embeds = self._embed(input_ids, media)
        logits = self.llm.lm_head(self.llm.layer(inputs_embeds))[:, -labels.size(1):]
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


# %%
model = LlavaLlamaModel()
model.freeze_llm()
model.enable_input_require_grads()
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
input_ids = torch.randint(30, (2, 5))
media = torch.randn(2, 3, 8, 8)

# %%
for step in range(2):
    loss = model(input_ids, media, input_ids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
