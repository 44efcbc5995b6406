# https://github.com/fredzzhang/pvic/issues/55
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def nested_tensor_from_tensor_list(tensor_list):
    max_size = [max(s) for s in zip(*(img.shape for img in tensor_list))]
    tensor = torch.zeros(len(tensor_list), *max_size)
    mask = torch.ones(len(tensor_list), *max_size[1:], dtype=torch.bool)
    for i, img in enumerate(tensor_list):
        tensor[i, :img.shape[0], :img.shape[1], :img.shape[2]].copy_(img)
        mask[i, :img.shape[1], :img.shape[2]] = False
    return tensor, mask


class PViC(nn.Module):
    """Two-stage detector of human-object interactions"""

    def __init__(self, num_objects=4, num_verbs=6, hidden_dim=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, hidden_dim, 3, 2, 1), nn.ReLU())
        self.query = nn.Embedding(3, hidden_dim)
        self.decoder = nn.MultiheadAttention(hidden_dim, 4, batch_first=True)
        self.object_predictor = nn.Linear(hidden_dim, num_objects)
        self.binary_classifier = nn.Linear(hidden_dim, num_verbs)

    def forward(self, images, targets=None):
        x, mask = nested_tensor_from_tensor_list(images)
        features = self.backbone(x).flatten(2).transpose(1, 2)
        mask = mask[:, ::4, ::4].flatten(1)
        query = self.query.weight.expand(len(images), -1, -1)
        out, _ = self.decoder(query, features, features, key_padding_mask=mask)
        objects, logits = self.object_predictor(out), self.binary_classifier(out)
        if not self.training:
            return objects, logits
        labels = torch.stack([t['object'] for t in targets])
        verbs = torch.stack([t['verb'] for t in targets])
        return dict(
            object_loss=F.cross_entropy(objects.flatten(0, 1), labels.flatten()),
            interaction_loss=F.binary_cross_entropy_with_logits(logits, verbs)
        )


class State:
    pass


class CustomisedDLE:
    def __init__(self, net, train_loader, lr=1e-3, max_norm=0.1):
        self._state = State()
        self._state.net = net
        self._state.optimizer = torch.optim.AdamW(net.parameters(), lr=lr, weight_decay=1e-4)
        self._train_loader = train_loader
        self.max_norm = max_norm
        self.input_grads = []

    def __call__(self, n):
        for epoch in range(n):
            self._state.net.train()
            for batch in self._train_loader:
                self._state.inputs = batch
                self._on_each_iteration()
            print(epoch, self._state.loss.item())

    def _on_each_iteration(self):
        loss_dict = self._state.net(*self._state.inputs)
        if loss_dict['interaction_loss'].isnan():
            raise ValueError("The HOI loss is NaN")

        self._state.loss = sum(loss for loss in loss_dict.values())
        self._state.optimizer.zero_grad(set_to_none=True)
        self._state.loss.backward()

        #To get inputs.grad
        grad = self._state.inputs[0][0].grad
        self.input_grads.append(grad)
        if self.max_norm > 0:
            torch.nn.utils.clip_grad_norm_(self._state.net.parameters(), self.max_norm)
        self._state.optimizer.step()


def custom_collate(batch):
    images, targets = [], []
    for im, tar in batch:
        images.append(im)
        targets.append(tar)
    return images, targets


# %%
dataset = []
for i in range(16):
    h, w = torch.randint(5, 9, (2,)).tolist()
    target = {'object': torch.randint(0, 4, (3,)), 'verb': (torch.rand(3, 6) < 0.3).float()}
    dataset.append((torch.rand(3, 4 * h, 4 * w), target))
train_loader = torch.utils.data.DataLoader(dataset, batch_size=4, shuffle=True, collate_fn=custom_collate)

# %%
engine = CustomisedDLE(PViC(), train_loader)
engine(3)

# %%
print(len(engine.input_grads), engine.input_grads[-1])
