import { type Field, renderProtocolTable } from './field-table.ts'
import { nestedConstraintFields } from './openai/common-fields.ts'
import { chatFields } from './openai-chat/fields.ts'
import { completionFields } from './openai-completions/fields.ts'

type Protocol = { readonly title: string; readonly route: string; readonly fields: readonly Field[] }

const protocols: readonly Protocol[] = [
  { title: 'OpenAI chat completions', route: 'POST /v1/chat/completions', fields: [...chatFields, ...nestedConstraintFields] },
  { title: 'OpenAI completions', route: 'POST /v1/completions', fields: [...completionFields, ...nestedConstraintFields] },
]

const introduction = `# Protocols

Every request field that Dragoman knows, and what it does with it. The server reads the same tables.

- **used**: it changes the reply.
- **informational**: accepted; no generated token depends on it.
- **refused**: HTTP 400 with the field in \`param\`, unless the value shown means the same as leaving it out.

A field that is not listed is accepted and named in the reply's \`x-dragoman-ignored\` header. So is an unknown field inside a
message, a content part, a tool, a tool call or another object: its path is named once, without indices, such as
\`messages[].content[].cache_control\`. An explicit \`null\` means the same as leaving the field out. Two spellings of one field
with different values are refused.
`

/** The whole of `docs/protocols.md`. */
export function renderProtocols(): string {
  return [introduction, ...protocols.map(renderProtocol)].join('\n')
}

function renderProtocol({ title, route, fields }: Protocol): string {
  return `## ${title}\n\n\`${route}\`\n\n${renderProtocolTable(fields)}`
}
