import { outsideText } from '../../canonical/tool-output.ts'
import type { ContentPart } from '../../contract/request.ts'
import type { Sealer } from '../../contract/sealer.ts'
import { unseal } from '../wire/sealed.ts'
import { text } from './decode-blocks.ts'
import { fetchedPage, programResult, type ServerResultBlock, sealedResult, type ToolUseBlock, textBlock } from './schema.ts'

const names: Readonly<Record<string, string>> = {
  web_fetch: 'web_search',
  code_execution: 'python',
  bash_code_execution: 'terminal',
}

/** The model's name of the tool of an assistant's block. */
export function toolOf({ type, name, server_name: server }: ToolUseBlock): string {
  if (type === 'mcp_tool_use') return typeof server === 'string' ? `${server}__${name}` : name
  return type === 'server_tool_use' && Object.hasOwn(names, name) ? (names[name] ?? name) : name
}

type Sources = { readonly tool: string; readonly sealer: Sealer }

/**
 * The result of a tool that a server ran in an assistant's turn: the words that the model read, where this server ran it; else its texts,
 * or its JSON. Only Anthropic's models read a result that is encrypted elsewhere.
 */
export function decodeServerResult({ content }: ServerResultBlock, { tool, sealer }: Sources): readonly ContentPart[] {
  return [text(outsideText(tool, wordsIn(content, sealer)))]
}

function wordsIn(content: unknown, sealer: Sealer): string {
  if (typeof content === 'string') return content
  if (content === undefined || content === null) return ''
  const blocks = Array.isArray(content) ? content : [content]
  const found = sealedResult.safeParse(blocks[0])
  const own = found.success ? unseal(sealer, found.data.encrypted_content, 'result') : undefined
  return own?.text ?? blocks.map(wordsOf).join('\n')
}

function wordsOf(block: unknown): string {
  const said = textBlock.safeParse(block)
  if (said.success) return said.data.text
  const program = programResult.safeParse(block)
  if (program.success) {
    const { stdout, stderr, return_code: code } = program.data
    const lead = code !== 0 && stderr === '' ? `Exit code ${code}:` : ''
    return [lead, stdout, stderr].filter((line) => line !== '').join('\n')
  }
  const page = fetchedPage.safeParse(block)
  if (page.success) return page.data.content.source.data
  return JSON.stringify(block, withoutEncrypted) ?? ''
}

function withoutEncrypted(key: string, value: unknown): unknown {
  return key.startsWith('encrypted_') ? undefined : value
}
