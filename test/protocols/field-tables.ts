import { countFields, messageFields } from '../../src/dialect/anthropic/fields.ts'
import { koboldFields } from '../../src/dialect/kobold/fields.ts'
import { infillFields, completionFields as llamaCompletionFields } from '../../src/dialect/llama-server/fields.ts'
import { modelNameFields } from '../../src/dialect/llama-server/model-name.ts'
import {
  batchChatFields,
  batchCompletionFields,
  embeddingsFields,
  nestedFields,
  chatFields as stackChatFields,
  completionFields as stackCompletionFields,
  rerankFields as stackRerankFields,
} from '../../src/dialect/llama-stack/fields.ts'
import {
  deleteFields,
  embedFields,
  nestedOptionFields,
  chatFields as ollamaChatFields,
  embeddingsFields as ollamaEmbeddingsFields,
  generateFields as ollamaGenerateFields,
  pullFields,
  showFields,
} from '../../src/dialect/ollama/fields.ts'
import { nestedConstraintFields } from '../../src/dialect/openai/common-fields.ts'
import { chatFields } from '../../src/dialect/openai-chat/fields.ts'
import { completionFields } from '../../src/dialect/openai-completions/fields.ts'
import { embeddingFields } from '../../src/dialect/openai-embeddings/fields.ts'
import {
  clientEventFields,
  compactFields,
  inputTokensFields,
  nestedResponseFields,
  responseFields,
} from '../../src/dialect/openai-responses/fields.ts'
import { presetSwitchFields } from '../../src/dialect/presets/fields.ts'
import { drainFields } from '../../src/dialect/replicas/fields.ts'
import { rerankFields, scoreFields } from '../../src/dialect/scoring/fields.ts'
import {
  downloadFields,
  embeddingLoadFields,
  loraLoadFields,
  loraUnloadFields,
  modelLoadFields,
} from '../../src/dialect/tabby/fields.ts'
import { templateSwitchFields, templateUnloadFields } from '../../src/dialect/templates/fields.ts'
import { detokenizeFields, tokenDecodeFields, tokenEncodeFields, tokenizeFields } from '../../src/dialect/tokens/fields.ts'
import { generateFields, loadFields, speechFields, unloadFields, validateFields } from '../../src/dialect/unsloth/fields.ts'
import { cancelFields } from '../../src/dialect/wire/cancel-keys.ts'
import { type Field, spellings } from '../../src/dialect/wire/field-table.ts'
import { preview } from '../../src/dialect/wire/preview.ts'
import { markdownTable } from './markdown-table.ts'

type Protocol = { readonly title: string; readonly route: string; readonly fields: readonly Field[] }

const protocols: readonly Protocol[] = [
  { title: 'OpenAI chat completions', route: 'POST /v1/chat/completions', fields: [...chatFields, ...nestedConstraintFields] },
  { title: 'OpenAI completions', route: 'POST /v1/completions', fields: [...completionFields, ...nestedConstraintFields] },
  { title: 'llama-server: completion', route: 'POST /completion', fields: [...llamaCompletionFields, ...nestedConstraintFields] },
  { title: 'llama-server: infill', route: 'POST /infill', fields: [...infillFields, ...nestedConstraintFields] },
  { title: 'KoboldAI: generate', route: 'POST /api/v1/generate', fields: koboldFields },
  { title: 'llama-server: load and unload', route: 'POST /models/load', fields: modelNameFields },
  { title: 'OpenAI embeddings', route: 'POST /v1/embeddings', fields: embeddingFields },
  { title: 'OpenAI Responses', route: 'POST /v1/responses', fields: [...responseFields, ...nestedResponseFields] },
  { title: 'OpenAI Responses: messages over a WebSocket', route: 'GET /v1/responses', fields: clientEventFields },
  { title: 'OpenAI Responses: count tokens', route: 'POST /v1/responses/input_tokens', fields: inputTokensFields },
  { title: 'OpenAI Responses: compact', route: 'POST /v1/responses/compact', fields: compactFields },
  { title: 'Anthropic Messages', route: 'POST /v1/messages', fields: messageFields },
  { title: 'Anthropic: count tokens', route: 'POST /v1/messages/count_tokens', fields: countFields },
  {
    title: 'llama-stack: chat completion',
    route: 'POST /v1/inference/chat-completion',
    fields: [...stackChatFields, ...nestedFields],
  },
  {
    title: 'llama-stack: completion',
    route: 'POST /v1/inference/completion',
    fields: [...stackCompletionFields, ...nestedFields],
  },
  {
    title: 'llama-stack: batch of chat completions',
    route: 'POST /v1/inference/batch-chat-completion',
    fields: [...batchChatFields, ...nestedFields],
  },
  {
    title: 'llama-stack: batch of completions',
    route: 'POST /v1/inference/batch-completion',
    fields: [...batchCompletionFields, ...nestedFields],
  },
  { title: 'llama-stack: embeddings', route: 'POST /v1/inference/embeddings', fields: embeddingsFields },
  { title: 'llama-stack: reranking', route: 'POST /v1/inference/rerank', fields: stackRerankFields },
  { title: 'Ollama: chat', route: 'POST /api/chat', fields: ollamaChatFields },
  { title: 'Ollama: generate', route: 'POST /api/generate', fields: ollamaGenerateFields },
  { title: 'Ollama: `options` of chat and generate', route: 'POST /api/chat', fields: nestedOptionFields },
  { title: 'Ollama: embed', route: 'POST /api/embed', fields: embedFields },
  { title: 'Ollama: embeddings', route: 'POST /api/embeddings', fields: ollamaEmbeddingsFields },
  { title: 'Ollama: show a model', route: 'POST /api/show', fields: showFields },
  { title: 'Ollama: pull a model', route: 'POST /api/pull', fields: pullFields },
  { title: 'Ollama: delete a model', route: 'DELETE /api/delete', fields: deleteFields },
  { title: 'Reranking', route: 'POST /v1/rerank', fields: rerankFields },
  { title: 'LLaMA-Factory: scores', route: 'POST /v1/score/evaluation', fields: scoreFields },
  { title: 'tabbyAPI: load a model', route: 'POST /v1/model/load', fields: modelLoadFields },
  { title: 'tabbyAPI: load a model that embeds', route: 'POST /v1/model/embedding/load', fields: embeddingLoadFields },
  { title: 'tabbyAPI: download a model', route: 'POST /v1/download', fields: downloadFields },
  { title: 'tabbyAPI: load LoRA adapters', route: 'POST /v1/lora/load', fields: loraLoadFields },
  { title: 'tabbyAPI: unload the LoRA adapters', route: 'POST /v1/lora/unload', fields: loraUnloadFields },
  { title: 'tabbyAPI: encode tokens', route: 'POST /v1/token/encode', fields: tokenEncodeFields },
  { title: 'tabbyAPI: decode tokens', route: 'POST /v1/token/decode', fields: tokenDecodeFields },
  { title: 'tabbyAPI: switch the sampler overrides', route: 'POST /v1/sampling/override/switch', fields: presetSwitchFields },
  { title: 'tabbyAPI: switch the chat template', route: 'POST /v1/template/switch', fields: templateSwitchFields },
  { title: 'tabbyAPI: unload the chat template', route: 'POST /v1/template/unload', fields: templateUnloadFields },
  { title: 'Unsloth: load a model', route: 'POST /api/inference/load', fields: loadFields },
  { title: 'Unsloth: find a model', route: 'POST /api/inference/validate', fields: validateFields },
  { title: 'Unsloth: unload a model', route: 'POST /api/inference/unload', fields: unloadFields },
  { title: 'Take a server of a remote model out of use', route: 'POST /api/inference/replicas/drain', fields: drainFields },
  { title: 'Use a server again', route: 'POST /api/inference/replicas/undrain', fields: drainFields },
  {
    title: 'Unsloth: generate',
    route: 'POST /api/inference/generate/stream',
    fields: [...generateFields, ...cancelFields],
  },
  { title: 'Unsloth: speech', route: 'POST /v1/audio/generate', fields: [...speechFields, ...cancelFields] },
  { title: 'llama-server: tokenize', route: 'POST /tokenize', fields: tokenizeFields },
  { title: 'llama-server: detokenize', route: 'POST /detokenize', fields: detokenizeFields },
]

const introduction = `# Protocols

Every request field that Dragoman knows, and what it does with it. The server reads the same tables.

- **used**: it changes the reply, or how it can be cancelled, or is passed on to a server that generates it.
- **informational**: accepted; no generated token depends on it.
- **refused**: HTTP 400 with the field in \`param\`, unless the value shown means the same as leaving it out.

The tables of OpenAI's protocols also have the fields of other servers that would change the output, as far as they are known, as used or as
refused. A field that is not listed is accepted, changes nothing and is named in the reply's \`x-dragoman-ignored\` header. So is an unknown field inside a
message, a content part, a tool, a tool call or another object: its path is named once, without indices, such as
\`messages[].content[].cache_control\`. An explicit \`null\` means the same as leaving the field out. Two spellings of one field
with different values are refused. The header also names \`messages[].name\`, \`reasoning_effort\`, the switches of thinking
(\`enable_thinking\`, \`thinking\`, \`preserve_thinking\`), \`verbosity\` and the variables of \`template_vars\` where the model's chat template, as
far as it is known, or the server behind the model has no use for them; an effort switches thinking on where there is a switch.

Where another model serves than the one that was asked for, the header \`x-dragoman-served-model\` names it: a [fallback](fallback.md) or a
[version](versions.md).

Of a constrained output, the header \`x-dragoman-structured\` says how the constraint is enforced: \`full\`, by a grammar while it is generated;
\`validated\`, by a check of the finished text; \`partial\`, as far as the engine does. A text that fails the check is HTTP 502
\`invalid_output\`. In a stream the header is sent before the text: \`validated\` means that an error event, instead of a finish reason,
ends a text that breaks the constraint. Truncated text is not checked: a whole reply with one says \`partial\`, a stream has its finish
reason (\`length\`).
`

/** The content of `docs/protocols.md`. */
export function renderProtocols(): string {
  return [introduction, ...protocols.map(renderProtocol)].join('\n')
}

function renderProtocol({ title, route, fields }: Protocol): string {
  return `## ${title}\n\n\`${route}\`\n\n${renderProtocolTable(fields)}`
}

/** The table as markdown for `docs/protocols.md`. */
export function renderProtocolTable(fields: readonly Field[]): string {
  const rows = fields.map((field) => [spellings(field).map(code).join(', '), describeTreatment(field), field.note])
  return markdownTable(['field', 'treatment', 'note'], rows)
}

function describeTreatment(field: Field): string {
  if (field.treatment !== 'refused') return field.treatment
  const { accepts = [], acceptsAlso } = field
  const fine = [...accepts.map(preview).map(code), ...(acceptsAlso === undefined ? [] : [acceptsAlso.what])]
  return fine.length === 0 ? 'refused' : `refused unless ${fine.join(' or ')}`
}

function code(text: string): string {
  return `\`${text}\``
}
