import { createHash } from 'node:crypto'

/** Plain JavaScript for the browser: it reads the document beside it, and sends requests that a reader wants to try. */
const script = String.raw`
const make = (tag, { text, ...rest } = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), rest)
  if (text !== undefined) element.textContent = text
  element.append(...children)
  return element
}
const find = (id) => document.getElementById(id)
const authorization = () => (find('key').value === '' ? {} : { authorization: 'Bearer ' + find('key').value })
let schemas = {}

function nameOf({ $ref = '' }) {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}

function typeOf(schema) {
  if (schema.$ref !== undefined) return nameOf(schema)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const options = schema.anyOf ?? schema.oneOf
  if (options !== undefined) return [...new Set(options.map(typeOf))].join(' | ')
  if (schema.type === 'array') return 'array of ' + typeOf(schema.items ?? {})
  return [schema.type ?? 'any'].flat().join(' | ')
}

function fieldsOf(schema) {
  const found = schema.$ref === undefined ? schema : (schemas[nameOf(schema)] ?? {})
  const rows = Object.entries(found.properties ?? {}).map(([name, field]) =>
    make('tr', {}, make('td', {}, make('code', { text: name }), (found.required ?? []).includes(name) ? ' *' : ''),
      make('td', { text: typeOf(field) }), make('td', { text: field.description ?? '' })))
  return rows.length === 0 ? [] : [make('table', {}, ...rows)]
}

/** The body, with the first model in place of the word for one. */
async function bodyOf({ value }) {
  if (!value.includes('"MODEL"')) return value
  const { data = [] } = await (await fetch('v1/models', { headers: authorization() })).json()
  return data.length === 0 ? value : value.replaceAll('"MODEL"', JSON.stringify(data[0].id))
}

async function send(method, path, inputs, body, output) {
  const url = path.replace(/\{(\w+)\}/g, (_, name) => inputs.get(name).value)
  output.textContent = '…'
  try {
    const response = await fetch(url.slice(1) || '.', {
      method,
      headers: { ...authorization(), ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: await bodyOf(body) }),
    })
    output.textContent = response.status + ' ' + (response.headers.get('content-type') ?? '') + '\n'
    const decoder = new TextDecoder()
    const reader = response.body?.getReader()
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true }
      if (done) break
      output.textContent += decoder.decode(value, { stream: true })
    }
  } catch (error) {
    output.textContent = String(error)
  }
}

function tryOut(method, path, operation) {
  const content = operation.requestBody?.content ?? {}
  if (operation.requestBody !== undefined && content['application/json'] === undefined) {
    return [make('p', { text: 'It takes a form: ' + Object.keys(content).join(', ') })]
  }
  const inputs = new Map(operation.parameters.filter((each) => each.in === 'path').map(({ name }) => [name, make('input', { placeholder: name })]))
  const example = JSON.stringify(content['application/json']?.example ?? {}, null, 2)
  const body = content['application/json'] === undefined ? undefined : make('textarea', { value: example, rows: example.split('\n').length + 1 })
  const output = make('pre')
  const button = make('button', { text: 'Send', onclick: () => send(method, path, inputs, body, output) })
  return [...inputs.values(), ...(body === undefined ? [] : [body]), button, output]
}

function detailsOf(method, path, operation) {
  const scope = operation.security[0]?.bearer?.[0]
  const { content = {} } = Object.values(operation.responses)[0] ?? {}
  const requests = Object.entries(operation.requestBody?.content ?? {}).flatMap(([type, { schema }]) => [
    make('h4', { text: 'Request: ' + type }), ...fieldsOf(schema)])
  const replies = Object.entries(content).flatMap(([type, media]) => [
    make('h4', { text: 'Reply: ' + type }), ...fieldsOf(media['x-each'] ?? media.schema ?? {})])
  const query = operation.parameters.filter((each) => each.in === 'query').map(({ name, schema }) => name + ': ' + typeOf(schema))
  const facts = [
    scope === undefined ? 'Needs no key' : 'Scope of a key: ' + scope,
    ...(query.length > 0 ? ['Query: ' + query.join('; ')] : []),
    ...(operation['x-also-at'] === undefined ? [] : ['Also at: ' + operation['x-also-at'].join(', ')]),
  ]
  return [...facts.map((text) => make('p', { text })), ...tryOut(method, path, operation), ...requests, ...replies]
}

function entryOf(method, path, operation) {
  const summary = make('summary', {}, make('b', { text: method }), ' ', make('code', { text: path }), ' ', operation.summary)
  const entry = make('details', { id: operation.operationId }, summary)
  entry.addEventListener('toggle', () => {
    if (entry.open && entry.children.length === 1) entry.append(...detailsOf(method, path, operation))
  })
  return entry
}

async function show() {
  const response = await fetch('openapi.json')
  const { info, tags, paths, components } = await response.json()
  schemas = components.schemas
  find('title').textContent = info.title + ' ' + info.version
  find('about').textContent = info.description
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })))
  const groups = [...tags, { name: 'Others', description: '' }]
  for (const { name, description } of groups) {
    const entries = all.filter(({ operation }) => (operation.tags?.[0] ?? 'Others') === name)
    if (entries.length === 0) continue
    find('routes').append(make('section', {}, make('h2', { text: name }), make('p', { text: description }),
      ...entries.map(({ method, path, operation }) => entryOf(method, path, operation))))
  }
  const wanted = document.getElementById(location.hash.slice(1))
  if (wanted !== null) wanted.open = true
}

find('filter').addEventListener('input', ({ target }) => {
  const words = target.value.toLowerCase().split(/\s+/)
  for (const section of document.querySelectorAll('section')) {
    const entries = [...section.querySelectorAll('details')]
    for (const entry of entries) entry.hidden = !words.every((word) => entry.firstChild.textContent.toLowerCase().includes(word))
    section.hidden = entries.every((entry) => entry.hidden)
  }
})
show().catch((error) => {
  find('about').textContent = 'openapi.json cannot be read: ' + error
})
`

const style = `
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 1rem auto; padding: 0 1rem }
#about, pre { white-space: pre-wrap; overflow-wrap: anywhere }
details { border: 1px solid #8886; border-radius: 4px; margin: 4px 0; padding: 4px 8px }
summary b { display: inline-block; width: 5em }
textarea, table { width: 100%; box-sizing: border-box; font-family: ui-monospace, monospace }
table { border-collapse: collapse; font-size: 13px }
td { border-top: 1px solid #8886; padding: 2px 6px; vertical-align: top; overflow-wrap: anywhere }
td:last-child { font-family: system-ui, sans-serif; width: 55% }
`

/** A page about every route that needs no address outside this server. Its URLs are relative: a proxy may serve it below a prefix. */
export const docsPage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Dragoman: API</title>
<meta name="viewport" content="width=device-width"><style>${style}</style></head><body>
<h1 id="title">Dragoman</h1><p id="about">Reading openapi.json …</p>
<p><a href="openapi.json">openapi.json</a> <input id="filter" type="search" placeholder="Filter the routes">
<input id="key" type="password" placeholder="API key, if one is needed" autocomplete="off"></p>
<main id="routes"></main><script>${script}</script></body></html>
`

const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Its own script, its own style, and requests to this server. */
export const docsPolicy = `default-src 'none'; connect-src 'self'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
