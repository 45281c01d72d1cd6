import { nestedOptionFields } from '../../src/dialect/ollama/fields.ts'
import { clientEventFields } from '../../src/dialect/openai-responses/fields.ts'
import { type Field, spellings } from '../../src/dialect/wire/field-table.ts'
import { preview } from '../../src/dialect/wire/preview.ts'
import { chapters } from '../../src/http/openapi/chapters.ts'
import type { Body } from '../../src/http/openapi/operation.ts'
import { markdownTable } from './markdown-table.ts'

type Section = { readonly title: string; readonly route: string; readonly fields: readonly Field[] }

/** The pages of the field tables: file name, title, and the routes that they describe. */
const pages: readonly (readonly [name: string, title: string, isThere: (tag: string, path: string) => boolean])[] = [
  ['openai-chat', 'OpenAI chat completions', (_, path) => path.startsWith('/v1/chat/completions')],
  ['openai-completions', 'OpenAI completions', (_, path) => path.startsWith('/v1/completions')],
  ['openai-responses', 'OpenAI Responses', (_, path) => path.startsWith('/v1/responses')],
  ['openai-other', 'OpenAI: embeddings, reranking, decisions and speech', (tag) => tag === 'OpenAI'],
  ['anthropic', 'Anthropic Messages', (tag) => tag === 'Anthropic'],
  ['ollama', 'Ollama', (tag) => tag === 'Ollama'],
  ['llama-server', 'llama-server', (tag) => tag === 'llama-server'],
  ['llama-stack', 'llama-stack', (tag) => tag === 'llama-stack'],
  ['tabbyapi', 'tabbyAPI', (tag) => tag === 'tabbyAPI'],
  ['unsloth', 'Unsloth Studio', (tag) => tag === 'Unsloth Studio'],
  ['others', 'KoboldAI, LM Studio, MLC-LLM and Dragoman', () => true],
]

/** Each body once, with its first route, by page; /openapi.json has the other routes. */
const sections = new Map<string, Section[]>(pages.map(([name]) => [name, []]))
const seen = new Set<Body>()
for (const { tag, operations } of chapters) {
  for (const [route, { title, body }] of Object.entries(operations)) {
    if (body?.fields === undefined || seen.has(body)) continue
    seen.add(body)
    const [name = ''] = pages.find(([, , isThere]) => isThere(tag, route.split(' ')[1] ?? '')) ?? []
    sections.get(name)?.push({ title, route, fields: body.fields })
  }
}
sections
  .get('openai-responses')
  ?.push({ title: 'OpenAI Responses: messages over a WebSocket', route: 'GET /v1/responses', fields: clientEventFields })
sections
  .get('ollama')
  ?.push({ title: 'Ollama: `options` of chat and generate', route: 'POST /api/chat', fields: nestedOptionFields })

const introduction = `# Protocols

Every request field that Dragoman knows, and what it does with it, on a page for each protocol. The server reads the same tables. A running server describes its routes, with types,
examples and replies, at \`/docs\` for people and at \`/openapi.json\` (OpenAPI 3.1) for programs.

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

Where another model serves than the one that was asked for, the header \`x-dragoman-served-model\` names it: a [fallback](../fallback.md) or a
[version](../versions.md).

A request for more output than the context has room for beside its prompt gets what there is: the answer ends as one that its limit has
truncated (\`length\`; Messages: \`model_context_window_exceeded\`), and the header \`x-dragoman-shortened\` has the field and both numbers:
\`max_tokens;asked=32000;room=3050\`. Where only a server behind the model knows its context, the request is sent again with what that
says it has room for, without the header. A prompt that is too long itself is an error with both numbers; with \`server.shortenOutput: false\`,
so is such a limit. A Responses request with \`truncation: auto\` first drops turns until there is room for what it asks for, or for a quarter
of the context.

What a reply has taken is beside its usage as llama-server's \`timings\`: \`prompt_n\` tokens of the prompt were read in \`prompt_ms\`, \`cache_n\` came
from a cache, \`predicted_n\` were generated in \`predicted_ms\`, with the rates of both. Chat completions and completions have it in whole
replies, in the chunk of a stream that has the usage (\`stream_options.include_usage\`), and with \`timings_per_token: true\` in each chunk;
\`POST /completion\` and \`/infill\` have it always, and Ollama's routes have their durations. The engine measures; for a server that does not
say, Dragoman measures to the first token and from there to the end. The header \`server-timing\` of whole replies has all phases,
in whole milliseconds. Times and rates of \`timings\` are whole from 100 on, and have at most two decimals below. With
\`return_progress: true\`, a stream has chunks with \`prompt_progress\` (\`total\`, \`cache\`, \`processed\`, \`time_ms\`) while its prompt is read. With
\`server.usageTimes: [tabby, mlc]\`, \`usage\` also has tabbyAPI's times and rates (\`prompt_time\`, \`completion_tokens_per_sec\`, \`total_time\` …)
and MLC-LLM's \`extra\`: not by default, since LangChain fails on fractions in \`usage\`.

Of a constrained output, the header \`x-dragoman-structured\` says how the constraint is enforced: \`full\`, by a grammar while it is generated;
\`validated\`, by a check of the finished text; \`partial\`, as far as the engine does. A text that fails the check is generated once
more, with another seed, where the reply is not streamed; then it is HTTP 502 \`invalid_output\`. In a stream the header is sent before the
text: \`validated\` means that an error event, instead of a finish reason, ends a text that breaks the constraint. Truncated text is not checked: a whole reply with one says \`partial\`, a stream has its finish
reason (\`length\`).

## Where a prompt differs

What follows a change of an earlier message cannot come from a prompt cache. A turn that differs from the turn before says where, how, and
about how many tokens no cache can have: \`x-dragoman-prefix: messages[3];part=text;change=date;missed=18412\`. \`part\` is \`text\`, \`reasoning\`,
\`tool-call\`, \`tool-result\`, \`image\` …, or a whole \`message\` or \`tool\`, or a \`setting\`.

| \`change\`           | the first difference                                                                      |
| ------------------ | ----------------------------------------------------------------------------------------- |
| \`date\`, \`number\`   | only dates and times, or numbers, such as a countdown of tokens                           |
| \`id\`, \`path\`       | only ids of calls or sessions, or paths: a folder, the state of a repository              |
| \`spacing\`          | only white space, ends of lines, or the Unicode form of characters                        |
| \`text\`, \`bytes\`    | another text; media with other bytes                                                      |
| \`order\`            | the same tools in another order                                                           |
| \`added\`, \`removed\` | a message, a part such as reasoning or an image, a tool, or text inside of one            |
| \`dropped\`          | thoughts that the chat template prints only until the next question                       |
| \`value\`            | a setting, such as an effort, unless the chat template prints it only behind all messages |
| absent             | the earlier text is forgotten                                                             |

\`diagnostics.previous_message_id\` in Messages and \`prompt_cache_options.comparison_response_id\` in Responses compare with any remembered reply,
also of servers with the same PostgreSQL, in Anthropic's and OpenAI's words. Turns of different keys are never compared.
`

/** The content of `docs/reference/protocols.md`. */
export function renderIndex(): string {
  const rows = pages.map(([name, title]) => [
    `[${title}](protocols/${name}.md)`,
    sections
      .get(name)
      ?.map(({ route }) => code(route))
      .join(', ') ?? '',
  ])
  return `${introduction}\n## The fields of each protocol\n\n${markdownTable(['page', 'routes with a body'], rows)}`
}

/** The pages below `docs/reference/protocols`: file name and content. */
export function renderPages(): readonly (readonly [name: string, text: string])[] {
  return pages.map(([name, title]) => {
    const tables = (sections.get(name) ?? []).map(renderSection)
    return [name, `# ${title}: fields\n\n[How to read the tables](../protocols.md)\n\n${tables.join('\n')}`]
  })
}

function renderSection({ title, route, fields }: Section): string {
  return `## ${title}\n\n\`${route}\`\n\n${renderTable(fields)}`
}

/** Links in notes are relative to `docs`. */
function renderTable(fields: readonly Field[]): string {
  const rows = fields.map((field) => [
    spellings(field).map(code).join(', '),
    describeTreatment(field),
    field.note.replaceAll(/\]\((?=[a-z])/g, '](../../'),
  ])
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
