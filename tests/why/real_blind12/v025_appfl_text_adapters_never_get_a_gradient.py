# https://github.com/APPFL/APPFL/pull/398
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.lora_A = nn.Parameter(torch.randn(r, base.in_features) * 0.1)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))

    def forward(self, x):
        return self.base(x) + x @ self.lora_A.T @ self.lora_B.T


class Clip(nn.Module):
    def __init__(self, dim=16, vocab=30):
        super().__init__()
        self.visual = LoRALinear(nn.Linear(12, dim))
        self.token_embedding = nn.Embedding(vocab, dim)
        self.token_embedding.weight.requires_grad = False
        self.text = LoRALinear(nn.Linear(dim, dim))

    def encode_image(self, images):
        return self.visual(images)

    def encode_text(self, tokens):
        return self.text(self.token_embedding(tokens).mean(1))


class DeCaFTrainer:
    def __init__(self, model, classnames, encoder="both"):
        self.model, self.classnames, self.encoder = model, classnames, encoder
        self.optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)

    def _encode_text(self, classnames, device):
        """Encode class names into normalised text feature vectors."""
        with torch.no_grad():
            class_embeddings = self.model.encode_text(classnames.to(device))
            text_features = class_embeddings / class_embeddings.norm(dim=-1, keepdim=True)
        return text_features

    def train(self, loader, epochs):
        for epoch in range(epochs):
            for images, labels in loader:
                text_features = self._encode_text(self.classnames, "cpu")
                image_features = self.model.encode_image(images)
                image_features = image_features / image_features.norm(dim=-1, keepdim=True)
                logits = 10 * image_features @ text_features.T
                loss = F.cross_entropy(logits, labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(epoch, loss.item())


# %%
model = Clip()
classnames = torch.randint(0, 30, (5, 4))
loader = [(torch.randn(16, 12), torch.randint(0, 5, (16,))) for _ in range(4)]
trainer = DeCaFTrainer(model, classnames, encoder="both")
trainer.train(loader, epochs=3)
