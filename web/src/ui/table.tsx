import { signal } from '@preact/signals'
import { Component, type ComponentChildren, type RefObject } from 'preact'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useShortcuts } from '../frame/shortcuts.ts'
import { Fact } from './facts.tsx'
import { Waiting } from './states.tsx'

export type Column<Row> = {
  readonly name: string
  /** The smallest screen with room for it; on a smaller one, it is in the row's detail. */
  readonly room: 'small' | 'medium' | 'large'
  readonly isNumber?: boolean
  /** It contains buttons: its name is for screen readers, and it stays in sight if the table is wider than the screen. */
  readonly isAction?: boolean
  /** It takes the remaining width. */
  readonly fills?: boolean
  /** The exact value, as a tooltip. */
  readonly title?: (row: Row) => string
  readonly cell: (row: Row) => ComponentChildren
}

type TableProps<Row> = {
  /** The contents of the table, for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  /** Undefined: still waiting; shows the frame. */
  readonly rows: readonly Row[] | undefined
  /** What it is waiting for. */
  readonly waits: string
  readonly idOf: (row: Row) => string
  /** The open row, and the detail below it. */
  readonly open?: string | undefined
  readonly onOpen?: (id: string | undefined) => void
  readonly detail?: (row: Row) => ComponentChildren
}

const rowPx = 32
/** Rows beyond the visible ones are rendered, too, so that fast scrolling meets no empty rows. */
const besidePx = 320

/** A table that renders only the rows near the reader: ten thousand scroll like ten. `j` and `k` move, Enter opens. */
export function Table<Row>({ label, columns: all, rows: given, waits, idOf, open, onOpen, detail }: TableProps<Row>) {
  const rows = given ?? []
  const [columns, others] = useMemo(() => split(all), [all, isSmall.value, isLarge.value])
  const room = useRef<HTMLDivElement>(null)
  const { first, end, measure } = useRowsInView(room, rows.length)
  const [at, setAt] = useState(open)
  // Keeps the row that the address opens in view, even while rows arrive above it, until the reader scrolls.
  const sought = useRef(open)
  const leave = () => {
    sought.current = undefined
  }
  useLayoutEffect(() => {
    const element = room.current
    if (sought.current === undefined || element === null) return
    const y = (rows.findIndex((row) => idOf(row) === sought.current) + 1) * rowPx
    if (y > 0 && (y < element.scrollTop || y + rowPx * 2 > element.scrollTop + element.clientHeight))
      element.scrollTop = y - rowPx * 2
  }, [given])
  useLayoutEffect(() => openCutCells(room.current), [at, first, columns])
  const move = (by: number) => {
    leave()
    const index = Math.min(rows.length - 1, Math.max(0, rows.findIndex((row) => idOf(row) === at) + by))
    const row = rows[index]
    const element = room.current
    if (row === undefined || element === null) return false
    setAt(idOf(row))
    const y = (index + 1) * rowPx
    if (y - rowPx < element.scrollTop) element.scrollTop = y - 2 * rowPx
    else if (y + rowPx > element.scrollTop + element.clientHeight) element.scrollTop = y + rowPx - element.clientHeight
    requestAnimationFrame(() => element.querySelector<HTMLElement>('tr[aria-selected="true"]')?.focus({ preventScroll: true }))
    return true
  }
  const toggle = (id: string) => onOpen?.(id === open ? undefined : id)
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    Enter: ({ target }) => {
      // A button in a row keeps its Enter.
      if (at === undefined || onOpen === undefined || (target instanceof HTMLElement && target.closest('button, a') !== null))
        return false
      toggle(at)
      return true
    },
  })
  const click = ({ target }: Event) => {
    if (!(target instanceof Element)) return
    const place = target.closest('tr')?.getAttribute('aria-rowindex')
    const row = place == null ? undefined : rows[Number(place) - 2]
    if (row === undefined) return
    setAt(idOf(row))
    if (target.closest('button, a, input') === null) toggle(idOf(row))
  }
  const filler = (count: number) =>
    count > 0 && (
      <tr class="filler">
        <td colSpan={columns.length} style={{ height: `${count * rowPx}px` }} />
      </tr>
    )
  return (
    <section
      class="table-room"
      ref={room}
      onScroll={measure}
      onWheel={leave}
      onPointerDown={leave}
      onKeyDown={leave}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
      tabIndex={0}
      aria-label={label}
    >
      <table class="table" aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={classOf(column)}>
                {column.isAction === true ? <span class="unseen">{column.name}</span> : column.name}
              </th>
            ))}
          </tr>
        </thead>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are j, k and Enter. */}
        <tbody onClick={click}>
          {filler(first)}
          {rows.slice(first, end).flatMap((row, offset) => {
            // One list: a new row above must not recreate an open one.
            const id = idOf(row)
            return [
              <tr
                key={id}
                class={onOpen === undefined ? undefined : 'opens'}
                aria-rowindex={first + offset + 2}
                aria-selected={id === at}
                tabIndex={-1}
              >
                <Once<CellsProps<Row>> is={Cells} row={row} columns={columns} />
              </tr>,
              id === open && detail !== undefined && (
                <tr key={`${id} open`} class="table-detail">
                  <td colSpan={columns.length}>
                    <div class="detail stack">
                      <Others row={row} columns={others} />
                      {detail(row)}
                    </div>
                  </td>
                </tr>
              ),
            ]
          })}
          {filler(rows.length - end)}
        </tbody>
      </table>
      {given === undefined && <Waiting what={waits} />}
    </section>
  )
}

/** The rows that are rendered: those near what the element shows. Call `measure` when it is scrolled. */
function useRowsInView(room: RefObject<HTMLDivElement | null>, count: number) {
  const [view, setView] = useState({ top: 0, height: 1200 })
  const measure = () => {
    const { scrollTop = 0, clientHeight = 1200 } = room.current ?? {}
    // In steps: most scroll events change nothing.
    const top = Math.floor(scrollTop / (rowPx * 8)) * rowPx * 8
    setView((last) => (top === last.top && clientHeight === last.height ? last : { top, height: clientHeight }))
  }
  useLayoutEffect(() => {
    if (room.current === null) return
    // The observer also reports the first size.
    const observer = new ResizeObserver(measure)
    observer.observe(room.current)
    return () => observer.disconnect()
  }, [])
  const first = Math.max(0, Math.floor((view.top - besidePx) / rowPx))
  const end = Math.min(count, Math.ceil((view.top + view.height + besidePx + rowPx * 8) / rowPx))
  return { first, end, measure }
}

/** In the selected row, cells with hidden text take the focus, and arrow keys scroll them. Returns what ends that. */
function openCutCells(room: HTMLElement | null): () => void {
  const cells = room?.querySelectorAll<HTMLElement>('tr[aria-selected="true"] td > .clip') ?? []
  const cut = [...cells].filter((cell) => cell.scrollWidth > cell.clientWidth)
  for (const cell of cut) cell.tabIndex = 0
  return () => {
    for (const cell of cut) cell.removeAttribute('tabindex')
  }
}

type Columns<Row> = readonly Column<Row>[]

/** The columns that fit on the screen, and the others. */
function split<Row>(all: Columns<Row>): readonly [Columns<Row>, Columns<Row>] {
  const has = ({ room }: Column<Row>) => room === 'small' || (!isSmall.value && (room === 'medium' || isLarge.value))
  return [all.filter(has), all.filter((column) => !has(column))]
}

function classOf<Row>({ isNumber, isAction, fills }: Omit<Column<Row>, 'name' | 'cell' | 'title'>): string | undefined {
  return isNumber === true ? 'number' : isAction === true ? 'act' : fills === true ? 'fills' : undefined
}

/** The columns that did not fit, as facts. */
function Others<Row>({ row, columns }: CellsProps<Row>) {
  const facts = columns
    .map((column) => ({ ...column, content: column.cell(row) }))
    .filter(({ content }) => content !== '' && content !== null && content !== false && content !== undefined)
  if (facts.length === 0) return null
  return (
    <dl class="fact-list close">
      {facts.map(({ name, title, content }) => (
        <Fact key={name} name={name} title={title?.(row)}>
          {content}
        </Fact>
      ))}
    </dl>
  )
}

type CellsProps<Row> = { readonly row: Row; readonly columns: readonly Column<Row>[] }

function Cells<Row>({ row, columns }: CellsProps<Row>) {
  return columns.map(({ name, title, cell, ...column }) => (
    <td key={name} class={classOf(column)} title={title?.(row)}>
      {column.isNumber === true || column.isAction === true ? (
        cell(row)
      ) : (
        // In Firefox, cells themselves do not scroll.
        <div class="clip">{cell(row)}</div>
      )}
    </td>
  ))
}

/** Keeps a component's rendering while its values are the same; a signal that it reads still renders it again. */
class Once<Props extends object> extends Component<Props & { readonly is: (props: Props) => ComponentChildren }> {
  override shouldComponentUpdate(next: Props): boolean {
    return (Object.keys(next) as (keyof Props)[]).some((name) => next[name] !== this.props[name])
  }

  override render({ is: Inner, ...props }: Props & { readonly is: (props: Props) => ComponentChildren }) {
    return <Inner {...(props as unknown as Props)} />
  }
}

function follow(query: string) {
  const list = matchMedia(query)
  const matching = signal(list.matches)
  list.addEventListener('change', () => {
    matching.value = list.matches
  })
  return matching
}

/** A telephone: tables show what matters most. */
const isSmall = follow('(max-width: 719px)')
/** There is room for every column. */
const isLarge = follow('(min-width: 1200px)')
