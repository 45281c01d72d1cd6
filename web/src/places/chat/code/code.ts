import type { ChatBody } from '../request.ts'

type Target = { readonly base: string; readonly needsKey: boolean }

/** A request as a shell command; the key is a variable. */
export function asCurl(body: ChatBody, { base, needsKey }: Target): string {
  const header = needsKey ? ` \\\n  -H "authorization: Bearer $DRAGOMAN_KEY"` : ''
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''")
  return `curl ${base}/chat/completions \\\n  -H 'content-type: application/json'${header} \\\n  -d '${json}'`
}

/** As `asCurl`, with OpenAI's SDK for JavaScript. */
export function asJavaScript(body: ChatBody, { base, needsKey }: Target): string {
  const key = needsKey ? 'process.env.DRAGOMAN_KEY' : "'none'"
  return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${JSON.stringify(base)}, apiKey: ${key} })
const stream = await client.chat.completions.create(${JSON.stringify({ ...body, stream: true }, null, 2)})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '')
`
}

/** As `asCurl`, with OpenAI's SDK for Python, which accepts only known fields; the others go into `extra_body`. */
export function asPython(body: ChatBody, { base, needsKey }: Target): string {
  const key = needsKey ? 'os.environ["DRAGOMAN_KEY"]' : '"none"'
  const entries = Object.entries(body)
  const own = entries.filter(([name]) => knownToOpenai.has(name))
  const extra = entries.filter(([name]) => !knownToOpenai.has(name))
  const lines = own.map(([name, value]) => `    ${name}=${toPython(value, 4)},`)
  if (extra.length > 0) lines.push(`    extra_body=${toPython(Object.fromEntries(extra), 4)},`)
  return `${needsKey ? 'import os\n\n' : ''}from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(base)}, api_key=${key})
stream = client.chat.completions.create(
${lines.join('\n')}
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
`
}

const knownToOpenai = new Set([
  'model',
  'messages',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'max_tokens',
  'tools',
  'response_format',
  'logprobs',
  'top_logprobs',
])

function toPython(value: unknown, indent: number): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const inner = ' '.repeat(indent + 4)
  const items = Array.isArray(value)
    ? value.map((item) => `${inner}${toPython(item, indent + 4)},`)
    : Object.entries(value).map(([name, item]) => `${inner}${JSON.stringify(name)}: ${toPython(item, indent + 4)},`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return items.length === 0 ? `${open}${close}` : `${open}\n${items.join('\n')}\n${' '.repeat(indent)}${close}`
}
