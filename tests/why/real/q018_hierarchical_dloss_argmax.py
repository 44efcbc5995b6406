# https://github.com/Ugenteraan/Deep_Hierarchical_Classification/issues/6
import torch
from torch import nn

fc1, fc2 = nn.Linear(8, 2), nn.Linear(8, 4)
hierarchy = {0: [0, 1], 1: [2, 3]}
x = torch.randn(16, 8)
y1, y2 = torch.randint(2, (16,)), torch.randint(4, (16,))
alpha, beta, p_loss = 1.0, 0.8, 3.0


# %%
def check_hierarchy(current_level, previous_level):
    # check if the predicted class at the current level is a child of that of the previous one
    bool_tensor = [not int(current_level[i]) in hierarchy[int(previous_level[i])] for i in range(len(previous_level))]
    return torch.FloatTensor(bool_tensor)


def calculate_dloss(predictions, true_labels):
    prev_lvl_pred = torch.argmax(nn.Softmax(dim=1)(predictions[0]), dim=1)
    current_lvl_pred = torch.argmax(nn.Softmax(dim=1)(predictions[1]), dim=1)
    D_l = check_hierarchy(current_lvl_pred, prev_lvl_pred)
    l_prev = torch.where(prev_lvl_pred == true_labels[0], torch.FloatTensor([0]), torch.FloatTensor([1]))
    l_curr = torch.where(current_lvl_pred == true_labels[1], torch.FloatTensor([0]), torch.FloatTensor([1]))
    dloss = torch.sum(torch.pow(p_loss, D_l * l_prev) * torch.pow(p_loss, D_l * l_curr) - 1)
    return beta * dloss


# %%
predictions = [fc1(x), fc2(x)]
lloss = sum(nn.CrossEntropyLoss()(p, y) for p, y in zip(predictions, (y1, y2)))
dloss = calculate_dloss(predictions, (y1, y2))
loss = alpha * lloss + dloss
loss.backward()
print(dloss.requires_grad)
