# https://github.com/leggedrobotics/rsl_rl/pull/94
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Memory(nn.Module):
    def __init__(self, input_size, hidden_size=12):
        super().__init__()
        self.rnn = nn.GRU(input_size=input_size, hidden_size=hidden_size)
        self.hidden_states = None

    def forward(self, input):
        out, self.hidden_states = self.rnn(input.unsqueeze(0), self.hidden_states)
        return out.squeeze(0)

    def reset(self):
        self.hidden_states = None

    def detach_hidden_states(self):
        if self.hidden_states is not None:
            self.hidden_states = self.hidden_states.detach()


class StudentTeacherRecurrent(nn.Module):
    is_recurrent = True

    def __init__(self, num_student_obs, num_teacher_obs, num_actions, rnn_hidden_dim=12):
        super().__init__()
        self.student = nn.Sequential(nn.Linear(rnn_hidden_dim, 16), nn.ELU(), nn.Linear(16, num_actions))
        self.teacher = nn.Sequential(nn.Linear(num_teacher_obs, 16), nn.ELU(), nn.Linear(16, num_actions))
        self.memory_s = Memory(num_student_obs, rnn_hidden_dim)
        self.teacher.eval()

    def act_inference(self, observations):
        return self.student(self.memory_s(observations))

    def evaluate(self, teacher_observations):
        with torch.no_grad():
            return self.teacher(teacher_observations)


class Distillation:
    def __init__(self, policy, num_learning_epochs=1, gradient_length=4, learning_rate=1e-3):
        self.policy = policy
        self.optimizer = optim.Adam(self.policy.student.parameters(), lr=learning_rate)
        self.num_learning_epochs = num_learning_epochs
        self.gradient_length = gradient_length
        self.storage = []

    def update(self):
        mean_behavior_loss = 0
        loss = 0
        cnt = 0
        for epoch in range(self.num_learning_epochs):
            self.policy.memory_s.reset()
            for obs, privileged_actions in self.storage:
                # inference the student for gradient computation
                actions = self.policy.act_inference(obs)
                # behavior cloning loss
                behavior_loss = nn.functional.mse_loss(actions, privileged_actions)
                loss = loss + behavior_loss
                mean_behavior_loss += behavior_loss.item()
                cnt += 1
                # gradient step
                if cnt % self.gradient_length == 0:
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                    self.policy.memory_s.detach_hidden_states()
                    loss = 0
        self.storage = []
        return mean_behavior_loss / cnt


# %%
alg = Distillation(StudentTeacherRecurrent(6, 9, 3))
memory_before = [p.detach().clone() for p in alg.policy.memory_s.parameters()]
for it in range(2):
    for _ in range(8):
        teacher_obs = torch.randn(10, 9)
        obs = teacher_obs[:, :6]
        alg.storage.append((obs, alg.policy.evaluate(teacher_obs)))
    print(it, alg.update())
