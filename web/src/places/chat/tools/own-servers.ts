import { keptInTab } from '../../../api/browser-kept.ts'
import { call, describe } from '../../../api/client.ts'
import { chatTexts } from '../../../texts/chat.ts'
import { isObject } from '../json-object.ts'
import { sharedList } from '../kept/shared-list.ts'
import type { WireServer } from '../request.ts'
import type { ToolList } from './tool-choice.ts'

/** An MCP server that the person has added. Its token is kept apart, and ends with the tab. */
export type OwnServer = { readonly name: string; readonly url: string; readonly needsToken: boolean }

const kept = sharedList('dragoman.mcp-servers', readServer)
export const ownServers = kept.list

const tokenKey = (name: string) => `dragoman.mcp-token.${name}`

/** Adds a server, or replaces the one of this name. */
export function saveServer({ name, url }: Pick<OwnServer, 'name' | 'url'>, token: string): void {
  keptInTab.set(tokenKey(name), token === '' ? undefined : token)
  kept.change((before) => [...without(before, name), { name, url, needsToken: token !== '' }])
}

export function removeServer(name: string): void {
  keptInTab.set(tokenKey(name), undefined)
  kept.change((before) => without(before, name))
}

const without = (all: readonly OwnServer[], name: string) => all.filter((each) => each.name !== name)

function readServer(value: unknown): OwnServer | undefined {
  if (!isObject(value) || typeof value.name !== 'string' || typeof value.url !== 'string') return undefined
  return { name: value.name, url: value.url, needsToken: value.needsToken === true }
}

/** Those of a conversation that switches these tools on, as requests have them. */
export function wireServers(names: readonly string[]): readonly WireServer[] {
  return ownServers.value.flatMap((server) => {
    const some = names.flatMap((name) => (name.startsWith(`${server.name}__`) ? [name.slice(server.name.length + 2)] : []))
    if (names.includes(server.name)) return [wireServer(server, tokenOf(server))]
    return some.length === 0 ? [] : [{ ...wireServer(server, tokenOf(server)), tool_configuration: { allowed_tools: some } }]
  })
}

const tokenOf = ({ name }: OwnServer) => keptInTab.get(tokenKey(name)) ?? ''

function wireServer({ name, url }: Pick<OwnServer, 'name' | 'url'>, token: string): WireServer {
  return { type: 'url', name, url, ...(token !== '' && { authorization_token: token }) }
}

/** The tools of a server, or why they cannot be used. */
export async function askServer(server: Pick<OwnServer, 'name' | 'url'>, token: string, signal?: AbortSignal): Promise<ToolList> {
  const body = { mcp_servers: [wireServer(server, token)] }
  return call<ToolList>('api/tools', { body, ...(signal !== undefined && { signal }) })
}

/** The same for all servers that were added. */
export async function askServers(signal: AbortSignal): Promise<readonly Pick<ToolList, 'tools' | 'absent'>[]> {
  return Promise.all(
    ownServers.value.map(async (server) => {
      const without = (why: string) => ({ tools: [], absent: [{ name: server.name, why }] })
      const token = tokenOf(server)
      if (server.needsToken && token === '') return without(chatTexts.serverTools.own.tokenEnded)
      return askServer(server, token, signal).catch((error: unknown) => without(describe(error)))
    }),
  )
}
