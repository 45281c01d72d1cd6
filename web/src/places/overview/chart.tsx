import { useId, useState } from 'preact/hooks'
import { placeTexts } from '../../texts/places.ts'
import { pathOf, topOf } from './scale.ts'

type Line = { readonly name: string; readonly values: readonly (number | undefined)[] }

type ChartProps = {
  readonly title: string
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  readonly format: (value: number) => string
}

const width = 600
const height = 140

/** Lines over time, from zero; with the pointer or the arrow keys, the values at a time. */
export function Chart({ title, times, lines, format }: ChartProps) {
  const [at, setAt] = useState<number>()
  const legend = useId()
  const top = topOf(lines.flatMap(({ values }) => values))
  const index = at === undefined ? times.length - 1 : Math.min(at, times.length - 1)
  const x = (position: number) => (times.length < 2 ? width : (position / (times.length - 1)) * width)
  const clock = (time: number | undefined) =>
    time === undefined
      ? ''
      : new Date(time).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
  const pick = ({ currentTarget, clientX }: PointerEvent & { readonly currentTarget: Element }) => {
    const { left, width: shown } = currentTarget.getBoundingClientRect()
    setAt(Math.min(times.length - 1, Math.max(0, Math.round(((clientX - left) / shown) * (times.length - 1)))))
  }
  const step = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0
    if (by === 0) return
    event.preventDefault()
    setAt(Math.min(times.length - 1, Math.max(0, index + by)))
  }
  const words = lines.map(({ name, values }) => `${name} ${textOf(values[index], format)}`).join(', ')
  return (
    <div class="chart">
      <div class="chart-top small muted" aria-hidden="true">
        {format(top)}
      </div>
      <div
        class="chart-room"
        role="slider"
        tabIndex={0}
        aria-label={placeTexts.overview.chart(title, clock(times[0]), clock(times.at(-1)))}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={index}
        aria-valuetext={`${clock(times[index])}: ${words}`}
        aria-describedby={legend}
        onPointerMove={pick}
        onPointerLeave={() => setAt(undefined)}
        onKeyDown={step}
        onBlur={() => setAt(undefined)}
      >
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
          <path d={`M0 ${height / 2}H${width}M0 0.5H${width}`} class="chart-grid" />
          <path d={`M0 ${height - 0.5}H${width}`} class="chart-ground" />
          {lines.map(({ name, values }, order) => (
            <path key={name} d={pathOf(values, { x, top, height })} class={`chart-line c${order + 1}`} />
          ))}
          {at !== undefined && <path d={`M${x(index)} 0V${height}`} class="chart-at" />}
        </svg>
      </div>
      <div class="chart-times small muted" aria-hidden="true">
        <span>{clock(times[0]).slice(0, 5)}</span>
        <span>{clock(times.at(-1)).slice(0, 5)}</span>
      </div>
      <ul class="legend" id={legend}>
        {at !== undefined && <li class="muted">{clock(times[index])}</li>}
        {lines.map(({ name, values }, order) => (
          <li key={name}>
            <svg width="16" height="8" aria-hidden="true">
              <path d="M0 4h16" class={`chart-line c${order + 1}`} />
            </svg>
            <span>{name}</span> <span class="number">{textOf(values[index], format)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

function textOf(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? '–' : format(value)
}
