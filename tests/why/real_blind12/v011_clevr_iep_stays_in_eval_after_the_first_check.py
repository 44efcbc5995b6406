# https://github.com/facebookresearch/clevr-iep/pull/22
import torch
import torch.nn as nn

torch.manual_seed(0)


class LstmModel(nn.Module):
    def __init__(self, vocab=20, dim=16, answers=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.classifier = nn.Sequential(nn.Linear(dim, 32), nn.BatchNorm1d(32), nn.ReLU(),
                                        nn.Dropout(0.5), nn.Linear(32, answers))

    def forward(self, questions):
        _, (h, _) = self.rnn(self.embed(questions))
        return self.classifier(h[-1])


def set_mode(mode, models):
    assert mode in ['train', 'eval']
    for m in models:
        if m is None: continue
        if mode == 'train': m.train()
        if mode == 'eval': m.eval()


def check_accuracy(baseline_model, loader):
    set_mode('eval', [baseline_model])
    num_correct, num_samples = 0, 0
    for questions, answers in loader:
        with torch.no_grad():
            scores = baseline_model(questions)
        _, preds = scores.max(1)
        num_correct += (preds == answers).sum().item()
        num_samples += preds.size(0)
    acc = float(num_correct) / num_samples
    return acc


def train_loop(baseline_model, train_loader, val_loader, num_iterations, checkpoint_every):
    optimizer = torch.optim.Adam(baseline_model.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    t = 0
    set_mode('train', [baseline_model])
    while t < num_iterations:
        for questions, answers in train_loader:
            t += 1
            optimizer.zero_grad()
            loss = loss_fn(baseline_model(questions), answers)
            loss.backward()
            optimizer.step()
            if t % checkpoint_every == 0:
                print(t, loss.item(), 'Checking training accuracy ... ')
                print('train accuracy is', check_accuracy(baseline_model, train_loader))
                print('val accuracy is ', check_accuracy(baseline_model, val_loader))


# %%
def make_loader(batches):
    questions = [torch.randint(0, 20, (16, 6)) for _ in range(batches)]
    return [(q, q[:, -1] % 4) for q in questions]


train_loader, val_loader = make_loader(8), make_loader(2)
baseline_model = LstmModel()
train_loop(baseline_model, train_loader, val_loader, num_iterations=30, checkpoint_every=10)
