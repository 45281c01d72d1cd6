import { causeOf } from '../supervise/cause.ts'

/** Why a server ended before it was ready: a message, or a taken port, where another one is worth a try. */
type StartFailure = { readonly type: 'port-taken' } | { readonly type: 'failed'; readonly message: string }

type StartEnd = { readonly binary: string; readonly description: string; readonly lastLines: readonly string[] }

export function explainExit({ binary, description, lastLines }: StartEnd): StartFailure {
  if (/ENOENT/.test(description))
    return failed(`${binary} was not found: \`dragoman runtime get\` fetches a llama-server; or set \`binary\` to where yours is`)
  if (/EACCES/.test(description)) return failed(`${binary} may not be run (${description})`)
  const text = lastLines.join('\n')
  if (/couldn't bind|couldn't start HTTP listener|address already in use/i.test(text)) return { type: 'port-taken' }
  const unknown = /error: (?:invalid argument|unknown argument):? *(\S+)/i.exec(text)?.[1]
  if (unknown !== undefined) {
    const why = 'it is older than the tested versions, it is not a llama-server, or the entry in `args` is wrong'
    return failed(`${binary} does not know the argument ${unknown}: ${why}`)
  }
  const quoted = causeOf(lastLines)
  return failed(`${binary} ${description}${quoted === '' ? ' and wrote nothing' : `: ${quoted}`}`)
}

function failed(message: string): StartFailure {
  return { type: 'failed', message }
}
