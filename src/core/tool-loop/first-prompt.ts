import { orAborted } from '../../base/time-limit.ts'
import type { RequestContext } from '../../contract/context.ts'
import type { ChatPrompt, ToolChoice, ToolUse } from '../../contract/request.ts'
import type { ServerTool, ToolListing } from '../../contract/server-tool.ts'
import { allowedTools, resolveChoice } from './choice.ts'
import { asFunction, introduceTools } from './conversation.ts'
import type { AnswerDeps } from './deps.ts'
import { chooseTools, type Offer, requireToolScope } from './offer.ts'

type Around = Pick<RequestContext, 'principal' | 'signal'>
type Deps = Pick<AnswerDeps, 'tools' | 'wallClock'>

const nothing: ToolListing = { tools: [], absent: [] }

/** The server's tools for a request. Call its `end`. Rejects with `forbidden` for a key without the scope. */
export async function listFor(deps: Deps, use: ToolUse, { principal, signal }: Around): Promise<ToolListing> {
  requireToolScope(principal)
  const { names, mcpServers = [] } = use
  const asked = deps.tools?.list({ principal, names, mcpServers, signal })
  return asked === undefined ? nothing : await orAborted(asked, signal)
}

type Offered = {
  readonly tools: ReadonlyMap<string, ServerTool>
  readonly listings: Offer['listings']
  readonly choice: ToolChoice
  /** The messages of the request, with instructions about the tools. */
  readonly messages: ChatPrompt['messages']
}

type Asked = { readonly use: ToolUse; readonly chat: ChatPrompt; readonly choice: ToolChoice }

/** The tools for a request, and the conversation with them. Throws `invalid-request` for unknown ones. */
export function offerTools({ wallClock = Date.now }: Deps, { use, chat, choice: asked }: Asked, listing: ToolListing): Offered {
  const { tools: offered, listings } = chooseTools(use, listing, chat.tools)
  const choice = resolveChoice(asked, use.maxTurns === 0 ? new Map() : offered, chat.tools)
  const tools = allowedTools(offered, choice)
  const date = new Date(wallClock()).toISOString().slice(0, 10)
  const around = { date, userPlace: use.web?.userPlace }
  return { tools, listings, choice, messages: introduceTools(chat.messages, tools.values(), around) }
}

type Counted = { readonly prompt: ChatPrompt; readonly toolChoice?: ToolChoice; readonly toolUse?: ToolUse | undefined }

/** The model's first prompt for a request, for counting. Rejects as its generation would. */
export async function withServerTools<Request extends Counted>(deps: Deps, request: Request, around: Around): Promise<Request> {
  const { toolUse: use, prompt: chat, toolChoice: choice = { type: 'auto' } } = request
  if (use === undefined || use.maxTurns === 0 || choice.type === 'none') return request
  const listing = await listFor(deps, use, around)
  try {
    const { tools, messages, choice: toolChoice } = offerTools(deps, { use, chat, choice }, listing)
    return {
      ...request,
      toolChoice,
      prompt: { ...chat, messages, tools: [...chat.tools, ...[...tools.values()].map(asFunction)] },
    }
  } finally {
    await listing.end?.()
  }
}
