# https://github.com/aliasgharkhani/SLiMe/issues/10
import torch
import torch.nn as nn

torch.manual_seed(0)


class CoSegmenterTrainer(nn.Module):
    def __init__(self, num_parts=3):
        super().__init__()
        self.num_parts = num_parts
        self.unet = nn.Linear(8, 8).requires_grad_(False)
        self.text_embedding = torch.randn(1, 7, 8, requires_grad=True)

    def configure_optimizers(self):
        embeddings_to_optimize = self.text_embedding[:, 1 : self.num_parts]
        self.embeddings_to_optimize = embeddings_to_optimize
        return torch.optim.Adam([{"params": embeddings_to_optimize}], lr=0.1)

    def training_step(self, target):
        out = self.unet(torch.cat([self.text_embedding[:, :1].detach(), self.embeddings_to_optimize], 1))
        return (out - target).pow(2).mean()


# %%
model = CoSegmenterTrainer()

# %%
optimizer = model.configure_optimizers()
loss = model.training_step(torch.zeros(1, 3, 8))
loss.backward()
optimizer.step()
