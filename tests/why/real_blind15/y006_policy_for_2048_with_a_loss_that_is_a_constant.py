# https://stackoverflow.com/questions/50181477
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Policy(nn.Module):
    """Chooses one of four directions for a board of 4 by 4 tiles."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 64)
        self.fc2 = nn.Linear(64, 4)

    def forward(self, board):
        x = F.relu(self.fc1(board))
        return F.softmax(self.fc2(x), dim=1)


class Game:
    """The heavier half of the board tells the direction that pays."""

    def __init__(self):
        self.score = 0
        self.board = self.new_board()

    def new_board(self):
        return torch.randint(0, 3, (4, 4)).float()

    def move(self, direction):
        halves = [self.board[:2], self.board[2:], self.board[:, :2], self.board[:, 2:]]
        best = max(range(4), key=lambda d: halves[d].sum().item())
        self.score += 1 if direction == best else 0
        self.board = self.new_board()


def play(policy, moves=20):
    game, boards, actions = Game(), [], []
    for _ in range(moves):
        board = game.board.view(1, 16)
        with torch.no_grad():
            direction = torch.multinomial(policy(board), 1).item()
        game.move(direction)
        boards.append(board)
        actions.append(direction)
    return boards, actions, game.score


# %%
policy = Policy()
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for batch in range(30):
    boards, actions, rewards = [], [], []
    for game in range(10):
        b, a, score = play(policy)
        boards += b
        actions += a
        rewards += [score] * len(a)
    # normalize and mean center the ending scores
    reward = torch.tensor(rewards, dtype=torch.float32).view(-1, 1)
    reward = (reward - reward.mean()) / (reward.std() + 1e-6)
    action = F.one_hot(torch.tensor(actions), 4).float()
    net_output = policy(torch.cat(boards))
    loss = torch.sum((action - net_output) * reward)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if batch % 10 == 0:
        print(batch, loss.item(), sum(rewards) / len(rewards))
