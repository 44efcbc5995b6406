# https://github.com/muzairkhattak/multimodal-prompt-learning/issues/37
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(0)

device_count = 2


class DataParallel(nn.Module):
    """Splits the batch over the devices and gathers what each of them returns."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *inputs):
        scattered = zip(*(input.chunk(device_count) for input in inputs))
        outputs = [self.module(*chunk) for chunk in scattered]
        if all(output.dim() == 0 for output in outputs):
            outputs = [output.view(1) for output in outputs]
        return torch.cat(outputs, 0)


class MultiModalPromptLearner(nn.Module):
    def __init__(self, n_cls, n_ctx=2, ctx_dim=32, vis_dim=48):
        super().__init__()
        ctx_vectors = torch.empty(n_ctx, ctx_dim)
        nn.init.normal_(ctx_vectors, std=0.02)
        self.ctx = nn.Parameter(ctx_vectors)
        self.proj = nn.Linear(ctx_dim, vis_dim)
        self.n_cls = n_cls
        self.register_buffer("token_prefix", torch.randn(n_cls, 1, ctx_dim))  # SOS
        self.register_buffer("token_suffix", torch.randn(n_cls, 3, ctx_dim))  # CLS, EOS

    def forward(self):
        ctx = self.ctx.unsqueeze(0).expand(self.n_cls, -1, -1)
        prompts = torch.cat([self.token_prefix, ctx, self.token_suffix], dim=1)
        return prompts, self.proj(self.ctx)


class Encoder(nn.Module):
    def __init__(self, width, output_dim):
        super().__init__()
        self.transformer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.projection = nn.Parameter(width ** -0.5 * torch.randn(width, output_dim))

    def forward(self, x):
        return self.transformer(x)[:, 0] @ self.projection


class CustomCLIP(nn.Module):
    def __init__(self, n_cls):
        super().__init__()
        self.prompt_learner = MultiModalPromptLearner(n_cls)
        self.image_encoder = Encoder(48, 16)
        self.text_encoder = Encoder(32, 16)
        self.logit_scale = nn.Parameter(torch.tensor(2.66))

    def forward(self, image, label=None):
        logit_scale = self.logit_scale.exp()
        prompts, shared_ctx = self.prompt_learner()
        text_features = self.text_encoder(prompts)
        image_features = self.image_encoder(torch.cat([image, shared_ctx.expand(image.size(0), -1, -1)], dim=1))

        image_features = image_features / image_features.norm(dim=-1, keepdim=True)
        text_features = text_features / text_features.norm(dim=-1, keepdim=True)
        logits = logit_scale * image_features @ text_features.t()

        if self.prompt_learner.training:
            return F.cross_entropy(logits, label)
        return logits


class MaPLe:
    def build_model(self, n_cls):
        self.model = CustomCLIP(n_cls)
        print("Turning off gradients in both the image and the text encoder")
        for name, param in self.model.named_parameters():
            if "prompt_learner" not in name:
                param.requires_grad_(False)
        self.optim = torch.optim.SGD(self.model.prompt_learner.parameters(), lr=0.0035)

        # Note that multi-gpu training could be slow because CLIP's size is
        # big, which slows down the copy operation in DataParallel
        if device_count > 1:
            print(f"Multiple GPUs detected (n_gpus={device_count}), use all of them!")
            self.model = DataParallel(self.model)

    def forward_backward(self, batch):
        image, label = batch
        model, optim = self.model, self.optim
        loss = model(image, label)
        optim.zero_grad()
        loss.backward()
        optim.step()
        return {"loss": loss.item()}


# %%
trainer = MaPLe()
trainer.build_model(n_cls=5)
images, labels = torch.randn(32, 9, 48), torch.randint(0, 5, (32,))

# %%
for epoch in range(2):
    for batch in zip(images.split(8), labels.split(8)):
        loss_summary = trainer.forward_backward(batch)
    print(epoch, loss_summary)
