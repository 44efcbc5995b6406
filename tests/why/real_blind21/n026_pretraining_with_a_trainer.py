# https://github.com/Lightning-AI/litgpt/issues/2151
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(42)


class GPT(nn.Module):
    def __init__(self, padded_vocab_size=32, n_embd=16, block_size=12, n_layer=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(padded_vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList([
            nn.TransformerEncoderLayer(n_embd, 2, 2 * n_embd, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, padded_vocab_size, bias=False)

    def forward(self, idx):
        T = idx.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(T)
        x = self.wte(idx) + self.wpe(torch.arange(T))
        for block in self.h:
            x = block(x, src_mask=mask)
        return self.lm_head(self.ln_f(x))


class TextData(Dataset):
    def __init__(self, n, block_size=12):
        start = torch.randint(0, 32, (n, 1))
        self.ids = (start + 3 * torch.arange(block_size)) % 32

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


class LitLLM(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def training_step(self, batch):
        input_ids, targets = batch["input_ids"], batch["labels"]
        logits = self.model(input_ids)
        return F.cross_entropy(logits[..., :-1, :].flatten(0, 1), targets[..., 1:].flatten())

    def configure_optimizers(self):
        warmup_steps = 10
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3, weight_decay=0.0, betas=(0.9, 0.95))
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step / warmup_steps)
        return [optimizer], [scheduler]


class Trainer:
    def __init__(self, max_epochs=1, log_every_n_steps=20):
        self.max_epochs, self.log_every_n_steps = max_epochs, log_every_n_steps

    def fit(self, module, dataloader):
        [self.optimizer], [config] = module.configure_optimizers()
        if not isinstance(config, dict):
            config = {"scheduler": config}
        scheduler, interval = config["scheduler"], config.get("interval", "epoch")
        for epoch in range(self.max_epochs):
            for batch_idx, batch in enumerate(dataloader):
                loss = module.training_step(batch)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                if interval == "step":
                    scheduler.step()
                if batch_idx % self.log_every_n_steps == 0:
                    w = module.model.lm_head.weight
                    lr = [group["lr"] for group in self.optimizer.param_groups]
                    print(f"Epoch {epoch}: {batch_idx} lr={lr} mean={w.mean():+.6f} std={w.std():.6f} train_loss={loss.item():.3f}")
            if interval == "epoch":
                scheduler.step()
        self.callback_metrics = {"train_loss": loss.item()}


# %%
lit_model = LitLLM(GPT())
data = DataLoader(TextData(1600), batch_size=16, shuffle=True)
before = {name: param.detach().clone() for name, param in lit_model.model.named_parameters()}

# %%
trainer = Trainer(max_epochs=1)
trainer.fit(lit_model, data)

# %%
same = [name for name, param in lit_model.model.named_parameters() if torch.equal(param, before[name])]
print(len(same), len(before), trainer.callback_metrics)
