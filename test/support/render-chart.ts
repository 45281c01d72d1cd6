import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'

/** What templates of the chart may name: `.Values`, `.Chart` and `.Release`. */
type Facts = { readonly Values: unknown; readonly Chart: unknown; readonly Release: unknown }

/**
 * Renders the chart's templates as Helm does, as far as they use its language: values by path, `default`, `toYaml`, `nindent`, `if`, `else` and `end`.
 * Throws for all else, so that a template that needs more is noticed. Returns the objects by kind.
 */
export function renderChart(folder: string, { release, values = {} }: { release: string; values?: Record<string, unknown> }) {
  const read = (name: string) => parse(readFileSync(join(folder, name), 'utf8'))
  const chart = read('Chart.yaml')
  const facts = {
    Values: { ...read('values.yaml'), ...values },
    Chart: { AppVersion: chart.appVersion },
    Release: { Name: release },
  }
  const texts = readdirSync(join(folder, 'templates')).map((name) =>
    render(readFileSync(join(folder, 'templates', name), 'utf8'), facts),
  )
  return texts.map((text) => ({ text, object: parse(text) }))
}

function render(template: string, facts: Facts): string {
  // Whether the text here is rendered, of each `if` around it.
  const shown: boolean[] = []
  const trimmed = template.replace(/\s*\{\{-/g, '{{')
  return trimmed.replace(/([^{]*(?:\{(?!\{)[^{]*)*)(?:\{\{ (.*?) \}\})?/g, (_, text: string, action: string | undefined) => {
    const before = shown.includes(false) ? '' : text
    if (action === undefined) return before
    const condition = /^if (\S+)$/.exec(action)?.[1]
    if (condition !== undefined) shown.push(Boolean(lookUp(condition, facts)))
    else if (action === 'else') shown.push(!shown.pop())
    else if (action === 'end') shown.pop()
    else if (!shown.includes(false)) return before + evaluate(action, facts)
    return before
  })
}

function evaluate(action: string, facts: Facts): string {
  const [first = '', ...pipes] = action.split(' | ')
  const toYaml = /^toYaml (\S+)$/.exec(first)?.[1]
  let value = toYaml === undefined ? lookUp(first, facts) : stringify(lookUp(toYaml, facts), { lineWidth: 0 }).trimEnd()
  for (const pipe of pipes) {
    const [, name, argument = ''] = /^(default|nindent) (\S+)$/.exec(pipe) ?? []
    if (name === 'default') value = value === '' ? lookUp(argument, facts) : value
    else if (name === 'nindent') value = `\n${String(value).replace(/^(?=.)/gm, ' '.repeat(Number(argument)))}`
    else throw new Error(`the chart uses '${pipe}', which its test does not know`)
  }
  return String(value)
}

function lookUp(path: string, facts: Facts): unknown {
  if (!/^(\.\w+)+$/.test(path)) throw new Error(`the chart uses '${path}', which its test does not know`)
  const keys = path.slice(1).split('.')
  return keys.reduce<unknown>((value, key) => {
    const next = (value as Record<string, unknown>)[key]
    if (next === undefined) throw new Error(`the chart has no value for ${path}`)
    return next
  }, facts)
}
