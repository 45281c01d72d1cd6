import { type Field, givesWay, informational, refused, used } from '../wire/field-table.ts'

/** The request fields of `POST /api/v1/chat`. */
export const chatFields: readonly Field[] = [
  used('model', 'an id or an alias; required'),
  used('input', 'a text, or items: `message` (also `text`) and `image` with a data URL'),
  used('system_prompt', 'a system message before the input; answers that continue this one keep it'),
  used('previous_response_id', 'the answer that this one continues; also a response of `/v1/responses`'),
  used('store', 'default true; false: no `response_id`'),
  used('stream', 'named events; default false'),
  used('temperature', '0 to 2; default: the model’s'),
  used('top_p', '0 to 1'),
  used('top_k', '0: off'),
  used('min_p', '0 to 1'),
  used('repeat_penalty', '0 to 2; 1: off'),
  used('max_output_tokens', `at least 1; absent, or -1: until the model stops or the context is full; ${givesWay}`),
  used('reasoning', '`off`, `on`, `low`, `medium`, `high`; all but `off` are refused for a model without reasoning'),
  informational('context_length', 'more than the context of the model is refused'),
  used(
    'integrations',
    'MCP servers: `mcp/LABEL` or a `plugin` of this id for one of the configuration, `ephemeral_mcp` for one at a host that the operator allows',
  ),
]

export const loadFields: readonly Field[] = [
  used('model', 'an id, an alias, or what a pull may fetch'),
  used('context_length', 'tokens of a request'),
  used('eval_batch_size', 'tokens of the prompt that are read together'),
  used('flash_attention', 'true or false; absent: as configured'),
  used('echo_load_config', 'the reply has `load_config`'),
  refused('num_experts', 'the number of experts is that of the model'),
  refused('offload_kv_cache_to_gpu', 'the cache is where the layers are', { accepts: [true] }),
]

export const unloadFields: readonly Field[] = [used('instance_id', 'the id of the model')]

export const downloadFields: readonly Field[] = [
  used('model', 'a short name, `OWNER/REPO`, or a link to a repository of Hugging Face'),
  used('quantization', 'of the file, such as `Q4_K_M`; default: the best that fits the memory'),
]
