import { colours, escaped, runsOf } from './terminal.ts'

/** What a terminal showed at a time; lines have the codes of their styles. */
export type Frame = { readonly atMs: number; readonly lines: readonly string[] }

type FilmOptions = { readonly title: string; readonly columns: number; readonly rows: number }

/** An animated SVG, and the text of its last frame. */
export type Film = { readonly svg: string; readonly lastText: string }

const [columnPx, linePx, edgePx] = [8.43, 19, 18]
/** How long the last frame stays before the film begins again. */
const lastMs = 5000

/** Frames one below the other, of which a window shows one at a time. Where nothing moves, it shows the last. */
export function filmOf(frames: readonly Frame[], { title, columns, rows }: FilmOptions): Film {
  const kept = frames.filter(({ lines }, index) => lines.join('\n') !== frames[index - 1]?.lines.join('\n'))
  const lastAtMs = kept.at(-1)?.atMs ?? 0
  const lengthMs = lastAtMs + lastMs
  const [width, height] = [Math.ceil(columns * columnPx + 2 * edgePx), rows * linePx + 3 * edgePx + linePx]
  const ids = new Map<string, number>()
  const drawn = kept.map(({ lines }, frame) => {
    const uses = lines.slice(0, rows).map((line, row) => {
      if (line.trim() === '') return ''
      const id = ids.get(line) ?? ids.size
      ids.set(line, id)
      return `<use href="#l${id}" y="${row * linePx}"/>`
    })
    return `<g transform="translate(0 ${frame * height})">${uses.join('')}</g>`
  })
  const steps = kept.map(({ atMs }, frame) => {
    const percent = frame === 0 ? 0 : (100 * atMs) / lengthMs
    return `${percent.toFixed(2)}%{transform:translateY(${-frame * height}px)}`
  })
  const lastFrame = `transform:translateY(${-(kept.length - 1) * height}px)`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">
<title id="title">${escaped(title)}</title>
<style>text{font:14px "DejaVu Sans Mono",Menlo,Consolas,monospace;fill:${colours.text};white-space:pre}
@keyframes film{${steps.join('')}}
.film{${lastFrame};animation:film ${lengthMs.toFixed(0)}ms step-end infinite}
@media (prefers-reduced-motion:reduce){.film{animation:none}}</style>
<defs>${[...ids].map(([line, id]) => lineOf(line, id)).join('\n')}</defs>
<rect width="100%" height="100%" rx="8" fill="${colours.ground}"/>
<text x="${edgePx}" y="${edgePx + 10}" style="opacity:.65">${escaped(title)}</text>
<clipPath id="window"><rect width="${width}" height="${height - 2 * edgePx - linePx}"/></clipPath>
<g transform="translate(0 ${2 * edgePx + linePx})" clip-path="url(#window)"><g class="film">${drawn.join('\n')}</g></g>
</svg>
`
  const plain = (kept.at(-1)?.lines ?? []).map((line) =>
    runsOf(line, 'fill')
      .map(({ text }) => text)
      .join('')
      .trimEnd(),
  )
  return { svg, lastText: plain.join('\n') }
}

function lineOf(line: string, id: number): string {
  let column = 0
  const spans = runsOf(line, 'fill').map(({ text, style }) => {
    const at = column
    column += text.length
    const blank = text.length - text.trimStart().length
    const seen = text.trim()
    const x = (edgePx + (at + blank) * columnPx).toFixed(1)
    return seen === '' ? '' : `<tspan x="${x}"${style === '' ? '' : ` style="${style}"`}>${escaped(seen)}</tspan>`
  })
  return `<text id="l${id}" y="14">${spans.join('')}</text>`
}
