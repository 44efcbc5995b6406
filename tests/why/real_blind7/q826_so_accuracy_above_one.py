# https://stackoverflow.com/questions/75915809
import torch
import torch.nn as nn
from torch import optim
from torch.optim import lr_scheduler

torch.manual_seed(0)
data = [(torch.rand(4, 3, 8, 8), torch.randint(0, 2, (4,))) for _ in range(5)]
dataset_sizes = {'train': 20, 'val': 20}
dataloaders = {'train': data, 'val': data}

model_ft = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1))
criterion = nn.BCEWithLogitsLoss()

# Observe that all parameters are being optimized
optimizer_ft = optim.SGD(model_ft.parameters(), lr=0.001, momentum=0.9)

# Decay LR by a factor of 0.1 every 7 epochs
exp_lr_scheduler = lr_scheduler.StepLR(optimizer_ft, step_size=7, gamma=0.1)

# %%
for epoch in range(2):
    for phase in ['train', 'val']:
        if phase == 'train':
            model_ft.train()
        else:
            model_ft.eval()
        running_loss = 0.0
        running_corrects = 0
        for inputs, labels in dataloaders[phase]:
            labels = labels.unsqueeze(1)
            optimizer_ft.zero_grad()
            with torch.set_grad_enabled(phase == 'train'):
                outputs = model_ft(inputs)
                loss = criterion(outputs, labels.float())
                if phase == 'train':
                    loss.backward()
                    optimizer_ft.step()
            _, preds = torch.max(outputs, 1)
            running_loss += loss.item() * inputs.size(0)
            running_corrects += torch.sum(preds == labels.data)
        if phase == 'train':
            exp_lr_scheduler.step()
        epoch_loss = running_loss / dataset_sizes[phase]
        epoch_acc = running_corrects.double() / dataset_sizes[phase]
        print(f'{phase} Loss: {epoch_loss:.4f} Acc: {epoch_acc:.4f}')
