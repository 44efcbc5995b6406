# https://github.com/isl-org/lang-seg/issues/38
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)


class TextEncoder(nn.Module):
    def __init__(self, vocab=50, width=32, out_c=24):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, width)
        self.text_projection = nn.Linear(width, out_c)

    def encode_text(self, text):
        return self.text_projection(self.token_embedding(text).mean(dim=1))


class bottleneck_block(nn.Module):
    def __init__(self):
        super(bottleneck_block, self).__init__()
        self.depthwise = nn.Conv2d(1, 1, kernel_size=3, padding=1)
        self.activation = nn.ReLU()

    def forward(self, x, act=True):
        sum_layer = x.max(dim=1, keepdim=True)[0]
        C, H, W = x.shape[1:]
        x = self.depthwise(x.reshape(-1, 1, H, W)).view(-1, C, H, W)
        x = x + sum_layer
        if act:
            x = self.activation(x)
        return x


class LSeg(nn.Module):
    def __init__(self, head, features=16, block_depth=1):
        super(LSeg, self).__init__()
        self.clip_pretrained = TextEncoder()
        self.pretrained = nn.Sequential(nn.Conv2d(3, features, 4, stride=4), nn.ReLU())
        self.refinenet1 = nn.Sequential(nn.Conv2d(features, features, 3, padding=1), nn.BatchNorm2d(features),
                                        nn.ReLU())
        self.logit_scale = nn.Parameter(torch.ones([]) * np.log(1 / 0.07)).exp()
        self.out_c = 24
        self.head1 = nn.Conv2d(features, self.out_c, kernel_size=1)
        self.head_block = bottleneck_block()
        self.block_depth = block_depth
        self.output_conv = head
        self.text = torch.tensor([[len(word), ord(word[0]) % 50] for word in self.labels])

    def forward(self, x, labelset=''):
        text = self.text if labelset == '' else labelset
        path_1 = self.refinenet1(self.pretrained(x))

        text = text.to(x.device)
        self.logit_scale = self.logit_scale.to(x.device)
        text_features = self.clip_pretrained.encode_text(text)
        image_features = self.head1(path_1)
        imshape = image_features.shape
        image_features = image_features.permute(0, 2, 3, 1).reshape(-1, self.out_c)

        # normalized features
        image_features = image_features / image_features.norm(dim=-1, keepdim=True)
        text_features = text_features / text_features.norm(dim=-1, keepdim=True)

        logits_per_image = self.logit_scale * image_features @ text_features.t()
        out = logits_per_image.float().view(imshape[0], imshape[2], imshape[3], -1).permute(0, 3, 1, 2)
        for _ in range(self.block_depth - 1):
            out = self.head_block(out)
        out = self.head_block(out, False)
        return self.output_conv(out)


class LSegNet(LSeg):
    def __init__(self, labels, **kwargs):
        self.labels = labels
        head = nn.Upsample(scale_factor=4, mode="bilinear", align_corners=True)
        super().__init__(head, **kwargs)


class Trainer:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.scaler = torch.amp.GradScaler(device, enabled=False)

    def train(self, cur_epoch, optim, train_loader, scheduler=None, print_int=10):
        device = self.device
        model = self.model
        criterion = nn.CrossEntropyLoss(ignore_index=-1)
        model.train()
        for cur_step, (images, labels) in enumerate(train_loader):
            images = images.to(device, dtype=torch.float32)
            labels = labels.to(device, dtype=torch.long)
            optim.zero_grad()
            outputs = model(images, labelset='')
            loss = criterion(outputs, labels)
            self.scaler.scale(loss)
            loss.backward()
            optim.step()
            if scheduler is not None:
                scheduler.step()
            print(cur_epoch, cur_step, loss.item())


# %%
model = LSegNet(["wall", "building", "sky", "floor", "tree"])
train_loader = [(torch.rand(2, 3, 16, 16), torch.randint(-1, 5, (2, 16, 16))) for _ in range(4)]
optim = torch.optim.SGD(model.parameters(), lr=0.004, momentum=0.9)

# %%
Trainer(model, "cpu").train(0, optim, train_loader)
