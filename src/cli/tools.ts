import { createConfiguredTools } from '../app/generating/tools.ts'
import { printableLines } from '../app/log/printable.ts'
import { parseObject } from '../base/json.ts'
import type { LoadedConfig } from '../config/load.ts'
import { AppError } from '../contract/errors.ts'
import { allScopes } from '../contract/principal.ts'
import type { JsonObject } from '../contract/request.ts'
import type { ServerTool, ToolBox, ToolListing } from '../contract/server-tool.ts'
import { createConsole } from './terminal/console.ts'
import { formatTable } from './terminal/table.ts'

type Attempt = {
  /** Absent: lists the tools. */
  readonly name?: string | undefined
  /** JSON, or a text for a tool that accepts one. */
  readonly input?: string | undefined
}

/** No key can have this name: the files of programs belong to the command. */
const caller = 'dragoman tools'

/** Lists the tools of a configuration, or tries one. Returns the exit code: 1 if a tool is absent, or fails. */
export async function tools(config: LoadedConfig, { name, input = '' }: Attempt): Promise<number> {
  const { log } = createConsole({ level: 'silent' })
  const onLine = (server: string, line: string) => console.error(printableLines(`${server}: ${line}`))
  const { tools: box } = await createConfiguredTools(config, log, onLine)
  const interrupt = new AbortController()
  const onInterrupt = () => interrupt.abort()
  process.once('SIGINT', onInterrupt)
  try {
    const principal = { id: caller, scopes: allScopes }
    // Naming them makes it wait for slow servers.
    const names = [...(box.namesFor(principal) ?? [])]
    const listing = await box.list({ principal, names, mcpServers: [], signal: interrupt.signal })
    if (name === undefined) return printListing(listing)
    return await tryTool(find(name, listing), input, interrupt.signal)
  } finally {
    process.off('SIGINT', onInterrupt)
    await box.close()
  }
}

function printListing({ tools: found, absent }: Awaited<ReturnType<ToolBox['list']>>): number {
  if (found.length === 0 && absent.length === 0) console.log('none: the configuration turns no tools on (`tools`; docs/tools.md)')
  const rows = found.map(({ name, kind, needsApproval, description }) => {
    return [name, kind, needsApproval === true ? 'yes' : 'no', description.split(/(?<=\.)\s|\n/, 1)[0]?.slice(0, 80) ?? '']
  })
  if (rows.length > 0) console.log(printableLines(formatTable(['TOOL', 'KIND', 'APPROVAL', 'DESCRIPTION'], rows)))
  for (const { name, why } of absent) console.error(printableLines(`absent: ${name}: ${why}`))
  return absent.length === 0 ? 0 : 1
}

function find(name: string, { tools: found, absent }: ToolListing): ServerTool {
  const tool = found.find((candidate) => candidate.name === name)
  if (tool !== undefined) return tool
  const why = absent.find((candidate) => candidate.name === name || name.startsWith(`${candidate.name}__`))?.why
  const names = found.map((candidate) => candidate.name).join(', ')
  const reason = why ?? `there is no such tool; there are: ${names === '' ? 'none' : names}`
  throw new AppError('invalid-request', `${name}: ${reason}`)
}

async function tryTool(tool: ServerTool, input: string, signal: AbortSignal): Promise<number> {
  const session = { principalId: caller, id: 'cli' }
  const { text, isError } = await tool.run({ arguments: argumentsOf(tool, input), session, signal })
  console.log(printableLines(text))
  return isError ? 1 : 0
}

/** A text that is not a JSON object is the value of the tool's only required parameter. */
function argumentsOf({ name, parameters, textParameter }: ServerTool, input: string): JsonObject {
  if (input.trim() === '') return {}
  const value = parseObject(input)
  if (value !== undefined) return value
  const properties = Object.keys((parameters.properties ?? {}) as JsonObject)
  const key = textParameter ?? (properties.length === 1 ? properties[0] : undefined)
  if (key !== undefined) return { [key]: input }
  const example = JSON.stringify(Object.fromEntries(properties.map((property) => [property, '…'])))
  throw new AppError('invalid-request', `${name} takes an object of JSON, such as '${example}', and not '${input.slice(0, 80)}'`)
}
