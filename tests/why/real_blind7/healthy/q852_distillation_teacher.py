# https://pytorch.org/tutorials/beginner/knowledge_distillation_tutorial.html
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))
student = nn.Sequential(nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 10))
ce_loss = nn.CrossEntropyLoss()
optimizer = optim.Adam(student.parameters(), lr=0.001)
T, soft_target_loss_weight, ce_loss_weight = 2, 0.25, 0.75
before = student[0].weight.detach().clone()

# %%
teacher.eval()  # Teacher set to evaluation mode
student.train()  # Student to train mode
for epoch in range(3):
    inputs, labels = torch.randn(32, 20), torch.randint(0, 10, (32,))
    optimizer.zero_grad()

    # Forward pass with the teacher model - do not save gradients here as we do not change the teacher's weights
    with torch.no_grad():
        teacher_logits = teacher(inputs)

    student_logits = student(inputs)
    soft_targets = nn.functional.softmax(teacher_logits / T, dim=-1)
    soft_prob = nn.functional.log_softmax(student_logits / T, dim=-1)
    soft_targets_loss = torch.sum(soft_targets * (soft_targets.log() - soft_prob)) / soft_prob.size()[0] * (T**2)
    label_loss = ce_loss(student_logits, labels)
    loss = soft_target_loss_weight * soft_targets_loss + ce_loss_weight * label_loss
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
