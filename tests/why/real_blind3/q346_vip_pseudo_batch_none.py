# https://github.com/MichiganCOG/ViP/issues/21
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
args = dict(pseudo_batch_loop=2, batch_size=4, lr=1e-3, momentum=0.9, weight_decay=5e-4, epoch=1, grad_max_norm=5)


class PoseNet(nn.Module):
    """Regresses yaw, pitch and roll from a clip."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv3d(3, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool3d(1))
        self.yaw = nn.Linear(4, 1)
        self.pitch = nn.Linear(4, 1)
        self.roll = nn.Linear(4, 1)

    def forward(self, x):
        x = self.features(x).flatten(1)
        return dict(yaw=self.yaw(x), pitch=self.pitch(x), roll=self.roll(x))


class Loss:
    def __init__(self, use=('yaw', 'pitch', 'roll')):
        self.use = use

    def loss(self, predictions, annotations):
        return sum(F.mse_loss(predictions[k], annotations[k], reduction='sum') for k in self.use)


# %%
model = PoseNet()
criterion = Loss(use=('yaw',))  # this experiment: only yaw
optimizer = torch.optim.SGD(model.parameters(), lr=args['lr'], momentum=args['momentum'], weight_decay=args['weight_decay'])
train_loader = [{'data': torch.randn(4, 3, 4, 8, 8), 'annots': {k: torch.randn(4, 1) for k in ('yaw', 'pitch', 'roll')}}
                for _ in range(4)]

# %%
model.train()
for epoch in range(args['epoch']):
    running_loss = 0.0
    pseudo = 0
    for step, data in enumerate(train_loader):
        outputs = model(data['data'])
        loss = criterion.loss(outputs, data['annots'])
        loss.backward()
        running_loss += loss.item()
        pseudo += 1
        if pseudo == args['pseudo_batch_loop']:
            # Apply large mini-batch normalization
            for param in model.parameters():
                param.grad *= 1. / float(args['pseudo_batch_loop'] * args['batch_size'])
            nn.utils.clip_grad_norm_(model.parameters(), args['grad_max_norm'])
            optimizer.step()
            optimizer.zero_grad()
            pseudo = 0
            print('Epoch: {}/{}, step: {}/{} | train loss: {:.4f}'.format(epoch, args['epoch'], step, len(train_loader), running_loss))
