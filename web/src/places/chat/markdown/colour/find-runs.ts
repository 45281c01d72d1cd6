import hljs from 'highlight.js/lib/core'
import { findLanguage } from './languages.ts'
import { RunEmitter, type Runs } from './run-emitter.ts'

hljs.configure({ __emitter: RunEmitter } as object)

/** The runs of code in a language; undefined: the language is not known. */
export async function findRuns(name: string, code: string): Promise<Runs | undefined> {
  const known = await register(name, new Set())
  if (known === undefined) return undefined
  const result = hljs.highlight(code, { language: known, ignoreIllegals: true }) as unknown as { readonly _emitter: RunEmitter }
  return result._emitter.runs
}

/** Fetches a language with those in it, and returns its name. */
async function register(name: string, seen: Set<string>): Promise<string | undefined> {
  const language = findLanguage(name)
  const [own = ''] = language?.names.split(' ') ?? []
  if (language === undefined) return undefined
  if (seen.has(own) || hljs.getLanguage(own) !== undefined) return own
  seen.add(own)
  const [loaded] = await Promise.all([language.load(), ...(language.needs ?? []).map((each) => register(each, seen))])
  hljs.registerLanguage(own, loaded.default)
  return own
}
