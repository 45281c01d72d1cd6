/** The protocols of agents: OpenAI chat completions, Anthropic Messages or OpenAI Responses. */
export const protocols = ['chat', 'messages', 'responses'] as const

export type Protocol = (typeof protocols)[number]

/** The server and the model for an agent. */
export type Target = {
  /** The base URL, without a path and a slash at the end. */
  readonly url: string
  /** Any text if the server needs no key: agents refuse to start without one. */
  readonly apiKey: string
  /** The server's name for it. */
  readonly model: string
  /** In tokens; absent until the server knows it. */
  readonly contextLength?: number
  readonly protocol: Protocol
  /** The folder for `files`; it exists while the agent runs, and only its user can read it. */
  readonly folder: string
}

export type Setup = {
  /** Added to the environment of the agent. */
  readonly env: Readonly<Record<string, string>>
  /** As `env`, for variables that the user's own environment overrides. */
  readonly defaults?: Readonly<Record<string, string>>
  /** Arguments before the user's own. */
  readonly args: readonly string[]
  /** Contents by path below the target's folder. */
  readonly files: Readonly<Record<string, string>>
}

/** A coding agent that can be pointed at this server without a change to the user's own configuration. */
export type Agent = {
  readonly title: string
  /** The program on the PATH. */
  readonly command: string
  /** The command that installs it, or the page that says how. */
  readonly install: readonly [string, ...string[]] | string
  /** The first one is the default. */
  readonly protocols: readonly [Protocol, ...Protocol[]]
  /** The size of its first request, measured with a prompt of five words: what the model reads before any work begins. Absent: unknown. */
  readonly firstRequestBytes?: number
  /**
   * The part of the context that it never fills, unless its user says otherwise: a fuller context is summarized after every step. Absent:
   * unknown.
   */
  readonly reservedTokens?: number
  /** It refuses models whose context has fewer tokens. */
  readonly shortestContext?: number
  readonly setUp: (target: Target) => Setup
}

/** The command that installs a package of npm. */
export function npm(name: string): readonly [string, ...string[]] {
  return ['npm', 'install', '--global', name]
}

/** The variable with the key, for agents whose configuration names one: arguments are visible in `ps`. */
export const keyVariable = 'DRAGOMAN_LAUNCH_KEY'

/** The name of the server in the configuration of agents that have several. */
export const providerName = 'dragoman'

/** The output limit for an agent: most of a small context has to stay free for its own prompt. */
export function outputLimit(contextLength: number): number {
  return Math.min(32_000, Math.floor(contextLength / 4))
}

const piApis = { chat: 'openai-completions', messages: 'anthropic-messages', responses: 'openai-responses' } as const

/** This server in the configuration of pi, and of what is built on it; `apiKey`: where they find the key. */
export function piProvider({ url, protocol, model, contextLength }: Target, apiKey: string) {
  return {
    baseUrl: protocol === 'messages' ? url : `${url}/v1`,
    api: piApis[protocol],
    apiKey,
    models: [
      {
        id: model,
        name: model,
        reasoning: false,
        input: ['text'],
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        ...(contextLength !== undefined && { contextWindow: contextLength, maxTokens: outputLimit(contextLength) }),
      },
    ],
  }
}
