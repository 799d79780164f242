"""Sentences of the workflow specification that the other families leave out; the number in each line is the section's."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Block, Functional, Inner, Pair
from cases_static import IMAGE, conv
from declare import case

GLOBAL = {"global": "default_qconfig"}


def matrix():
    return nn.Parameter(torch.randn(4, 4))


@case(x=(2, 4))
def weight_transposed(self):
    """6.7: the weight of a functional linear is computed from a parameter by a method."""
    self.w = matrix()
    return lambda self, x: F.linear(x, self.w.t())


@case(x=(2, 4))
def weight_divided(self):
    """6.7: the weight is a parameter by its largest magnitude, a relu behind the call."""
    self.w = matrix()
    return lambda self, x: F.relu(F.linear(x, self.w / self.w.abs().max()))


@case(x=(2, 4))
def weight_sum(self):
    """5.2 step 4: the weight is a quantized sum of parameters, whose observers run with the weight's."""
    self.w, self.v = matrix(), matrix()
    return lambda self, x: F.linear(x, self.w + self.v)


@case(x=IMAGE)
def weight_view(self):
    """6.7: a sharing operator on the way to the weight of a functional convolution."""
    self.w = nn.Parameter(torch.randn(4, 27))
    return lambda self, x: F.conv2d(x, self.w.view(4, 3, 3, 3), None, (1, 1), (1, 1), (1, 1), 1)


@case(x=(2, 4), mapping={"global": "default_dynamic_qconfig"})
def weight_transposed_dynamic(self):
    """6.7: the same under dynamic quantization."""
    self.w = matrix()
    return lambda self, x: F.linear(x, self.w.t())


@case(x=(2, 4))
def bias_computed(self):
    """6.7: the bias is computed from a parameter."""
    self.w, self.b = matrix(), nn.Parameter(torch.randn(4))
    return lambda self, x: F.linear(x, self.w, self.b * 2)


@case(x=(2, 4), w=(4, 4))
def weight_input(self):
    """6.7: a weight that is an input is packed when the model runs."""
    return lambda self, x, w: F.linear(x, w)


@case(x=(2, 4), y=(4, 4))
def weight_of_inputs(self):
    """6.7: so is one that a layer computes."""
    self.fc = nn.Linear(4, 4)
    return lambda self, x, y: F.linear(x, self.fc(y))


@case(x=(1, 3, 8))
def transposed_relu(self):
    """6.3: conv_transpose has no relu form."""
    self.w = nn.Parameter(torch.randn(3, 4, 3))
    return lambda self, x: F.relu(F.conv_transpose1d(x, self.w, None, 1, 0, 0, 1, 1))


@case(x=(2, 4))
def masked_fill(self):
    """4.3 step 2: the mask of masked_fill is a bool."""
    self.fc, self.fc2 = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        y = self.fc(x)
        return self.fc2(y.masked_fill(y > 0, 0.0))

    return forward


@case(x=IMAGE)
def view_arithmetic(self):
    """4.3 step 2: arithmetic on sizes carries no tensor."""
    self.conv, self.fc = conv(), nn.Linear(256, 2)

    def forward(self, x):
        y = self.conv(x)
        return self.fc(y.reshape(((y.shape[0] * 8) // 8, -1)))

    return forward


@case(x=IMAGE)
def permute_arithmetic(self):
    """4.3 step 2: dimensions computed from dim()."""
    self.conv = conv()

    def forward(self, x):
        y = self.conv(x)
        d = y.dim()
        return y.permute(0, d - 1, 1, 2).transpose(1, d - 1).unsqueeze(d)

    return forward


@case(x=IMAGE)
def cat_float_first(self):
    """4.7: the first element of a cat has no observer: its producer is float."""
    self.a, self.b = conv(), conv(7, 2)
    return lambda self, x: self.b(torch.cat([torch.exp(x), self.a(x)], 1))


@case(x=IMAGE)
def cat_float_second(self):
    """4.7: the second one has none."""
    self.a, self.b = conv(), conv(7, 2)
    return lambda self, x: self.b(torch.cat([self.a(x), torch.exp(x)], 1))


@case(x=IMAGE, y=IMAGE)
def cat_inputs(self):
    """4.7: a cat of inputs, as tuple."""
    self.conv = conv(6, 2)
    return lambda self, x, y: self.conv(torch.cat((x, y), 1))


@case(x=IMAGE)
def cat_parameter(self):
    """4.7: a cat of a parameter and a convolution."""
    self.conv, self.t = conv(), nn.Parameter(torch.randn(1, 2, 8, 8))
    return lambda self, x: torch.cat([self.t, self.conv(x)], 1)


@case(x=IMAGE)
def cat_chain(self):
    """4.7: sharing through two cats that have a value in common."""
    self.a, self.b, self.c = conv(), conv(), conv()

    def forward(self, x):
        a, b, c = self.a(x), self.b(x), self.c(x)
        return torch.cat([a, b], 1), torch.cat([b, c], 1)

    return forward


@case(x=IMAGE)
def mul_parameter(self):
    """6.4: a parameter as left operand of a product."""
    self.conv, self.t = conv(), nn.Parameter(torch.randn(1, 4, 8, 8))
    return lambda self, x: F.relu(self.t * self.conv(x))


@case(x=IMAGE, mapping={"global": "default_qconfig", "module_name_object_type_order": [["", "torch.nn.Conv2d", 1, None]]})
def order_module(self):
    """2.3: the second convolution switched off by order."""
    self.a, self.b = conv(), conv(4)
    return lambda self, x: self.b(self.a(x))


@case(x=IMAGE, mapping={"global": "default_qconfig", "module_name_regex": [["^b$", None], ["(a|b)", None]]})
def regex_forms(self):
    """2.3: regexes are anchored at their start only; the first match wins."""
    self.a, self.b, self.bc, self.c = conv(), conv(4), conv(4), conv(4)
    return lambda self, x: self.c(self.bc(self.b(self.a(x))))


@case(x=IMAGE, mode="qat", train=True, mapping={"extends": "x86_qat", "module_name_regex": [["b.*", None]]})
def qat_regex_off(self):
    """2.4: the module swap of QAT does not see regexes; convert takes the module back."""
    self.a, self.b, self.c = conv(), conv(4), conv(4)
    return lambda self, x: self.c(self.b(self.a(x)))


@case(x=IMAGE, mode="qat", train=True, mapping={"global": None, "module_name_regex": [["b.*", "default_qat_qconfig"]]})
def qat_regex_on(self):
    """2.4: nor does it when only a regex quantizes."""
    self.a, self.b, self.c = conv(), conv(4), conv(4)
    return lambda self, x: self.c(self.b(self.a(x)))


@case(x=IMAGE, mode="qat", train=True, mapping={"extends": "x86_qat", "module_name_object_type_order": [["", "torch.nn.Conv2d", 1, None]]})
def qat_order_off(self):
    """2.4: nor order entries."""
    self.a, self.b, self.c = conv(), conv(4), conv(4)
    return lambda self, x: self.c(self.b(self.a(x)))


@case(x=IMAGE, mode="qat", train=True, mapping={"global": None, "module_name": {"b": "default_qat_qconfig"}})
def qat_name_on(self):
    """4.1 step 6: one QAT module by name."""
    self.a, self.b, self.c = conv(), conv(4), conv(4)
    return lambda self, x: self.c(self.b(self.a(x)))


@case(x=IMAGE, mode="qat", train=True)
def qat_bn_alone(self):
    """3.4: BNReLU under QAT, a convolution with two users."""
    self.a, self.bn, self.relu, self.pool = conv(), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(2)

    def forward(self, x):
        y = self.a(x)
        return self.pool(self.relu(self.bn(y))) + F.max_pool2d(y, 2)

    return forward


@case(x=IMAGE, mode="qat", train=True)
def qat_block_twice(self):
    """4.1 step 6: one conv + bn + relu called twice."""
    self.stem, self.a, self.bn, self.relu = conv(), conv(4), nn.BatchNorm2d(4), nn.ReLU()
    return lambda self, x: self.relu(self.bn(self.a(self.relu(self.bn(self.a(self.stem(x)))))))


@case(x=IMAGE, mode="qat", train=True, mapping={"extends": "x86_qat", "module_name": {"b": "default_qat_qconfig"}}, custom={"convert": {"qconfig_mapping": {"module_name": {"b": None}}}})
def convert_override_qat(self):
    """2.5: a QAT module switched off at convert."""
    self.a, self.relu, self.b = conv(), nn.ReLU(), conv(4)
    return lambda self, x: self.b(self.relu(self.a(x)))


@case(x=IMAGE, custom={"convert": {"qconfig_mapping": {"object_type": {"torch.nn.Conv2d": None, "torch.nn.ReLU": None, "torch.nn.functional.relu": None}}}})
def convert_override_fused(self):
    """2.5: the members of a fused module switched off at convert."""
    self.a, self.relu, self.b = conv(), nn.ReLU(), conv(4)
    return lambda self, x: self.b(self.relu(self.a(x))).flatten(1)


@case(x=IMAGE, custom={"prepare": {"output_quantized_idxs": [0]}})
def dict_output_quantized(self):
    """5.6: a dict counts as output 0."""
    self.a = conv()
    return lambda self, x: {"a": self.a(x), "b": [self.a(x), x]}


@case(x=IMAGE)
def taken_names(self):
    """4.5, 5.3: attribute names that the model has already."""
    self.conv = conv()
    self.activation_post_process_0, self.conv_scale_0, self._scale_0 = (nn.Parameter(torch.randn(1)) for _ in range(3))
    return lambda self, x: (self.conv(x) + self.activation_post_process_0) * (self.conv_scale_0 + self._scale_0)


@case(x=(2, 4), mapping={"extends": "x86", "module_name": {"sub.fc": None}})
def names_by_scope(self):
    """5.3: names of scales by scope, with `_input` behind a value that is none."""
    self.sub, self.fc, self.last = Functional(), nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x: self.last(self.sub(self.fc(x)))


@case(x=(2, 4), mapping={"extends": "x86", "module_name": {"fc": None}})
def name_of_linear(self):
    """5.3: a functional linear names the observer before its first user does."""
    self.fc, self.w, self.b = nn.Linear(4, 4), matrix(), nn.Linear(4, 4)

    def forward(self, x):
        y = self.fc(x)
        return self.b(y) + F.linear(y, self.w)

    return forward


@case(x=(2, 4), y=(2, 4), custom={"prepare": {"standalone_module_name": [{"name": "pair", "prepare_custom_config": {
    "input_quantized_idxs": [0, 1], "output_quantized_idxs": [0]}}]}})
def standalone_pair(self):
    """4.9: two quantized inputs, one of them an input of the model."""
    self.pair, self.fc, self.last = Pair(), nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x, y: self.last(self.pair(x, self.fc(y)))


@case(x=(2, 4), custom={"prepare": {"standalone_module_name": [{"name": "pair", "prepare_custom_config": {
    "input_quantized_idxs": [0, 1], "output_quantized_idxs": [0]}}]}})
def standalone_same_value(self):
    """4.9, 5.5: one value as both inputs."""
    self.pair, self.fc = Pair(), nn.Linear(4, 4)
    return lambda self, x: self.fc(self.pair(x, x))


@case(x=(2, 4), y=(2, 4), custom={"prepare": {"standalone_module_name": [{"name": "pair", "prepare_custom_config": {
    "input_quantized_idxs": [0, 1], "output_quantized_idxs": [0]}}]}})
def standalone_keyword(self):
    """4.5: a keyword input of a standalone module is never observed."""
    self.pair, self.fc = Pair(), nn.Linear(4, 4)
    return lambda self, x, y: self.fc(self.pair(x, b=y))


@case(x=IMAGE, mode="qat", train=True, custom={"prepare": {"standalone_module_name": [{"name": "standalone", "prepare_custom_config": {
    "input_quantized_idxs": [0], "output_quantized_idxs": [0]}}]}})
def standalone_qat(self):
    """4.9: a standalone module under QAT."""
    self.conv, self.standalone = conv(3, 3), Inner()
    return lambda self, x: self.standalone(self.conv(x))


@case(x=IMAGE, custom={"prepare": {"standalone_module_name": [{"name": "standalone", "qconfig_mapping": {"extends": "qnnpack"}, "backend_config": "qnnpack"}]}})
def standalone_backend(self):
    """4.9: a standalone module with mapping and backend of its own."""
    self.conv, self.standalone = conv(3, 3), Inner()
    return lambda self, x: self.standalone(self.conv(x))


@case(x=(2, 4), backend="executorch", engine="qnnpack", mapping=GLOBAL)
def executorch_default(self):
    """4.4: a range outside the backend's: the function is float, the module is observed."""
    self.fc, self.w = nn.Linear(4, 4), matrix()
    return lambda self, x: torch.sigmoid(F.linear(self.fc(x), self.w))


@case(x=IMAGE)
def softmax_forms(self):
    """6.6: only the Softmax module has a quantized form."""
    self.conv, self.soft, self.log = conv(), nn.Softmax(1), nn.LogSoftmax(1)

    def forward(self, x):
        y = self.conv(x)
        return self.soft(y), F.softmax(y, 1), y.softmax(1), self.log(y)

    return forward


@case(x=IMAGE)
def method_keywords(self):
    """6.6: methods and functions with keyword arguments."""
    self.conv = conv()

    def forward(self, x):
        y = self.conv(x).mean(dim=3, keepdim=True).clamp(min=0.0, max=1.0).squeeze(-1).unsqueeze(dim=1)
        return torch.flatten(torch.mean(input=y.transpose(dim0=1, dim1=2), dim=3), start_dim=1)

    return forward


@case(i=torch.tensor([[0, 1], [2, 3]]), mapping={"extends": "x86", "object_type": {"torch.nn.functional.embedding": "float_qparams_weight_only_qconfig"}})
def embedding_functional(self):
    """4.10: a functional embedding has no quantized form."""
    self.w, self.fc = nn.Parameter(torch.randn(10, 4)), nn.Linear(4, 4)
    return lambda self, i: self.fc(F.embedding(i, self.w).sum(1))


@case(x=(2, 4), mapping={"global": "default_qconfig", "module_name": {"b": "default_dynamic_qconfig", "r": "default_dynamic_qconfig"}})
def dynamic_relu_inside(self):
    """6.2: a dynamic linear + relu between static layers."""
    self.a, self.b, self.r, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)
    return lambda self, x: self.c(self.r(self.b(self.a(x))))


@case(x=IMAGE, mapping={"extends": "x86", "object_type": {"torch.cat": None, "torch.nn.functional.relu": None, "torch.nn.MaxPool2d": None}})
def sharing_off(self):
    """4.7: sharing operators switched off between quantized layers."""
    self.a, self.b, self.pool, self.c = conv(), conv(), nn.MaxPool2d(2), conv(8, 2)
    return lambda self, x: self.c(self.pool(F.relu(torch.cat([self.a(x), self.b(x)], 1))))


@case(x=IMAGE, mapping={"global": None, "object_type": {"torch.nn.MaxPool2d": "default_qconfig"}})
def only_sharing(self):
    """4.7: only a sharing operator has a qconfig."""
    self.a, self.pool = conv(), nn.MaxPool2d(2)
    return lambda self, x: self.pool(self.a(x))


@case(x=(2, 4), mapping={"global": {"activation": {"class": "MinMaxObserver", "dtype": "qint32"}, "weight": "default_weight_observer"}})
def qint32_activation(self):
    """4.4: qint32 activations match no entry."""
    self.fc = nn.Linear(4, 4)
    return lambda self, x: self.fc(x) + 1


@case(x=IMAGE, mapping={"extends": "x86", "module_name": {"standalone": None}}, custom={"prepare": {"standalone_module_name": [{"name": "standalone", "prepare_custom_config": {
    "input_quantized_idxs": [0], "output_quantized_idxs": [0]}}]}})
def standalone_off(self):
    """4.9: a standalone module without qconfig is fused and prepared as well; its interface stays."""
    self.conv, self.standalone, self.last = conv(3, 4), Block(), conv(4, 2)
    return lambda self, x: self.last(self.standalone(self.conv(x)))


@case(x=IMAGE, mode="qat", train=True, custom={"prepare": {"standalone_module_name": [{"name": "standalone", "prepare_custom_config": {
    "input_quantized_idxs": [0], "output_quantized_idxs": [0]}}]}})
def standalone_qat_block(self):
    """4.1 steps 6, 9: the model's module swap reaches into a standalone module before that fuses: convolution and relu stay two."""
    self.conv, self.standalone = conv(3, 4), Block()
    return lambda self, x: self.standalone(self.conv(x))


@case(x=IMAGE)
def list_index(self):
    """Channels in another order by a list of ints: a getitem, which no entry quantizes."""
    self.a, self.b = conv(), conv(4)
    return lambda self, x: self.b(self.a(x)[:, [3, -2, 1, 0]])


def two_linears(self):
    self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)


@case(x=(2, 4))
def number_of_tensor(self):
    """item and tolist are in no entry: a dequantize stands before them, and what they give is observed like a tensor where arithmetic takes it."""
    two_linears(self)
    return lambda self, x: (lambda y: self.b(y) + y.max().item())(self.a(x))


@case(x=(2, 4))
def list_of_tensor(self):
    """tolist gives a list, of which getitem takes a number."""
    two_linears(self)
    return lambda self, x: (lambda y: self.b(y) * y.flatten().tolist()[0])(self.a(x))


@case(x=(2, 4))
def copied_into(self):
    """copy_ is in no entry; the layer behind it takes its result."""
    two_linears(self)
    return lambda self, x: self.b(self.a(x).copy_(x))


@case(x=(2, 4))
def integers_as_codes(self):
    """Calls that make codes of integers, and parameters of a range, are in no entry."""
    two_linears(self)
    return lambda self, x: (torch._make_per_tensor_quantized_tensor(self.a(x).to(torch.uint8), 0.5, 3).dequantize(),
                            torch._choose_qparams_per_tensor(self.b(x)))
