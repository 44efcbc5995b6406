# https://github.com/pytorch/tutorials/pull/188
import torch
from torch import nn

torch.manual_seed(0)


def train_model(model, criterion, optimizer, num_epochs=8):
    global best_epoch, same
    best_model_wts = model.state_dict()
    best_acc, best_epoch = 0.0, -1
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            model.train(phase == "train")
            inputs, labels = data[phase]
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                outputs = model(inputs)
                loss = criterion(outputs, labels)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
            epoch_acc = (outputs.argmax(1) == labels).float().mean().item()
            if phase == "val" and epoch_acc > best_acc:
                best_acc, best_epoch = epoch_acc, epoch
                best_model_wts = model.state_dict()
    same = torch.equal(best_model_wts["weight"], model.weight)
    model.load_state_dict(best_model_wts)
    return model


data = {k: (torch.randn(20, 4), torch.randint(3, (20,))) for k in ["train", "val"]}
model_ft = nn.Linear(4, 3)
optimizer_ft = torch.optim.SGD(model_ft.parameters(), lr=0.5, momentum=0.9)
model_ft = train_model(model_ft, nn.CrossEntropyLoss(), optimizer_ft)
print(best_epoch, same)
