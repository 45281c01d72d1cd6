import { z } from 'zod'
import { apiKeyEnv } from './endpoints-schema.ts'
import { count, optionalText, text } from './value-types.ts'

const mebibyte = 1024 ** 2

const domain = z
  .string()
  .regex(/^[\w.-]+$/, 'must be a host name such as pypi.org')
  .toLowerCase()

const sandboxObject = z.strictObject({
  runtime: z
    .string()
    .regex(/^(bubblewrap|podman:\S+)$/, 'must be `bubblewrap`, or `podman:IMAGE` such as podman:docker.io/library/python:3.12')
    .default('bubblewrap')
    .describe('What keeps programs apart from this machine: `bubblewrap` (Linux), or `podman:IMAGE`, in whose image they run.'),
  timeoutMs: count.default(300_000).describe('How long one execution may take; requests can ask for less.'),
  cpuSeconds: count.default(120).describe('Processor time of each process of a program.'),
  memoryBytes: count.default(1024 * mebibyte).describe('Memory of a program and all that it starts.'),
  processes: count.default(64).describe('Processes and threads at the same time.'),
  fileBytes: count.default(100 * mebibyte).describe('The largest file that a program may write.'),
  diskBytes: count.default(500 * mebibyte).describe("All files of a session's folder together."),
})

const pythonObject = sandboxObject.extend({
  interpreter: optionalText.describe(
    "The Python to run, such as /opt/venv/bin/python3 with packages that programs may use. Absent: the system's, or the one of the image.",
  ),
})

/** `true` is an object without settings; `false` turns the tool off. */
const sandbox = <Settings extends typeof sandboxObject>(settings: Settings, meaning: string) =>
  z
    .union([z.literal(false).transform(() => undefined), z.literal(true).transform(() => settings.parse({})), settings])
    .prefault(false)
    .describe(`${meaning} \`true\` takes the default limits. It runs only where programs can be isolated.`)

const sessions = z
  .strictObject({
    folder: optionalText.describe(
      'Where they are. Absent: `sandbox` in the home folder of Dragoman; where the server is root, /var/lib/dragoman/sandbox.',
    ),
    idleMs: count.default(3_600_000).describe('A session that was not used for so long is deleted.'),
  })
  .describe('The folders of files that programs of `python` and `terminal` share, one for each session of each key.')

const webSearch = z
  .strictObject({
    kind: z.enum(['searxng', 'brave', 'tavily']).describe('The search service: a SearXNG server, or the API of Brave or Tavily.'),
    url: z
      .url({ protocol: /^https?$/ })
      .exactOptional()
      .describe('The address of the service: of `searxng`, always; of the others, where it is not their own.'),
    apiKeyEnv: apiKeyEnv.exactOptional(),
    results: count.max(20).default(5).describe('Results of one search.'),
  })
  .check(({ value, issues }) => {
    const needed = value.kind === 'searxng' ? 'url' : 'apiKeyEnv'
    if (value[needed] !== undefined) return
    issues.push({ code: 'custom', path: [needed], message: `is needed with kind \`${value.kind}\``, input: value })
  })
  .describe('The tool `web_search`, which also reads pages. Absent: it is off.')

const tools = z.array(text).min(1).exactOptional()

const mcpCommon = {
  allowedTools: tools.describe('The tools that may be called, by their names there; absent: all.'),
  approval: z
    .enum(['never', 'always'])
    .default('never')
    .describe('Whether callers have to approve each call, also where their request wants no approvals.'),
}

const mcpServer = z
  .union([
    z.strictObject({
      url: z.url({ protocol: /^https?$/ }).describe('The address of a server that speaks Streamable HTTP or server-sent events.'),
      tokenEnv: z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
        .exactOptional()
        .describe('The environment variable that contains the bearer token of the server.'),
      ...mcpCommon,
    }),
    z.strictObject({
      command: text.describe('A program that speaks MCP on its standard input and output.'),
      args: z.array(z.string()).default([]).describe('Its arguments.'),
      env: z
        .record(z.string(), z.string())
        .default({})
        .describe('Its environment variables; of those of Dragoman it gets PATH, HOME and LANG only.'),
      ...mcpCommon,
    }),
  ])
  .describe('A server of the Model Context Protocol: one at an address, or a program that Dragoman starts.')

const mcpName = z
  .string()
  .regex(/^(?!.*__)[A-Za-z0-9_-]{1,32}$/, 'must be a name of at most 32 letters, digits, `_` and `-`, without `__`')

export const serverTools = z
  .strictObject({
    python: sandbox(pythonObject, 'The tool `python`, which runs programs.'),
    terminal: sandbox(sandboxObject, 'The tool `terminal`, which runs commands of a shell.'),
    sessions: sessions.prefault({}),
    webSearch: webSearch.exactOptional(),
    mcp: z
      .record(mcpName, mcpServer)
      .default({})
      .describe('Servers of the Model Context Protocol, by name; their tools are called `NAME__TOOL`.'),
    allowRequestServers: z
      .array(domain)
      .default([])
      .describe('Hosts, each with all below it, where requests may name MCP servers of their own. Empty: nowhere.'),
  })
  .describe(
    'Tools that Dragoman runs itself, for requests that enable them, with a key that has the scope `tools` (docs/tools.md). All are off ' +
      'by default.',
  )

export type McpServerConfig = z.output<typeof mcpServer>
