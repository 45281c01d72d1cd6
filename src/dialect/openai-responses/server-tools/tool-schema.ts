import { z } from 'zod'
import { dictionary, list, looseObject } from '../../wire/first-fault.ts'
import { flag, nonEmptyText, text } from '../../wire/wire-types.ts'

const names = list(nonEmptyText, { error: 'an array of names' })
const filter = looseObject({ tool_names: names.nullish(), read_only: flag })

/** A search of any version. */
export const webSearchType = /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/

const noFiles = { count: 0, error: 'no files: the folder of programs has only those that programs write' }
const newContainer = looseObject({ type: z.literal('auto'), file_ids: list(z.string(), { max: noFiles }).nullish() })
export const codeTool = looseObject({
  type: z.literal('code_interpreter'),
  /** The name of a shared folder, or a new one. */
  container: z.union([nonEmptyText, newContainer]).nullish(),
})

const always = z.enum(['always', 'never'], { error: '"always", "never", or an object' })
const maxHeaders = { count: 50, error: 'an object of at most 50 headers' }
export const mcpTool = looseObject({
  type: z.literal('mcp'),
  server_label: nonEmptyText,
  server_url: nonEmptyText.nullish(),
  connector_id: text,
  authorization: text,
  headers: dictionary(nonEmptyText, z.string(), { max: maxHeaders }).nullish(),
  allowed_tools: z.union([names, filter]).nullish(),
  require_approval: z.union([always, looseObject({ always: filter.nullish(), never: filter.nullish() })]).nullish(),
})
export type McpTool = z.output<typeof mcpTool>

/** A tool that OpenAI's servers run, of any type. */
export type HostedTool = { readonly type: string; readonly [key: string]: unknown }
