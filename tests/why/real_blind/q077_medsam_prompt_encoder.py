# https://github.com/bowang-lab/MedSAM/issues/233
import torch
import torch.nn as nn


class MedSAM(nn.Module):
    def __init__(self, image_encoder, mask_decoder, prompt_encoder):
        super().__init__()
        self.image_encoder = image_encoder
        self.mask_decoder = mask_decoder
        self.prompt_encoder = prompt_encoder
        # freeze prompt encoder
        for param in self.prompt_encoder.parameters():
            param.requires_grad = False

    def forward(self, image, box):
        image_embedding = self.image_encoder(image)
        # do not compute gradients for prompt encoder
        with torch.no_grad():
            sparse_embeddings = self.prompt_encoder(box)
        return self.mask_decoder(torch.cat([image_embedding, sparse_embeddings], 1))


# %%
medsam_model = MedSAM(nn.Linear(6, 4), nn.Linear(8, 3), nn.Linear(4, 4))
out = medsam_model(torch.randn(2, 6), torch.randn(2, 4))
out.pow(2).mean().backward()

# %%
for name, p in medsam_model.named_parameters():
    print(name, p.grad is None)
