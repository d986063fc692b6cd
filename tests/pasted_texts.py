"""A small tree in many languages, and what people paste into a search over it, each with its right answer."""

from __future__ import annotations

from typing import Final, NamedTuple


class Pasted(NamedTuple):
    """A text, the file that must be the first hit, and the line that it must point at; 0: any."""

    name: str
    text: str
    file: str
    line: int = 0


def _code(*lines: str, before: int) -> str:
    """Write lines that stand behind so many others."""
    return "\n".join([*(f"// {number} of the preamble" for number in range(1, before + 1)), *lines, ""])


FILES: Final = {
    "shop/orders/db.py": "import sqlite3\n\n\ndef load(order_id):\n    return connect().execute('SELECT', order_id)\n",
    "shop/orders/views.py": "from shop.orders import db\n\n\ndef show(req):\n    return render(db.load(req.id))\n",
    "tools/db.py": "# Another file of that name.\n\n\ndef vacuum(path):\n    return connect(path).compact()\n",
    "web/src/cart.js": _code("export function total(items) {", "  return items.map((i) => i.price);", "}", before=10),
    "web/src/checkout.ts": _code("export function pay(card: Card) {", "  return gateway.charge(card);", "}", before=4),
    "src/main/java/com/acme/orders/OrderService.java": _code("  void place(Order o) { repo.save(o); }", before=40),
    "src/main/java/com/acme/orders/OrderRepository.java": _code("  void save(Order o) { jdbc.insert(o); }", before=16),
    "src/main/kotlin/com/acme/Main.kt": _code("fun main() { launchShop() }", before=2),
    "Billing/Invoices/InvoiceStore.cs": _code("public void Save(Invoice i) { context.Add(i); }", before=57),
    "cmd/server/handler.go": _code("func (h *Handler) Serve() { h.routes[0]() }", before=87),
    "crates/engine/src/parser.rs": _code("let first = tokens.next().unwrap();", before=32),
    "app/models/order.rb": "class Order\n  def total\n    lines.sum(&:price)\n  end\nend\n",
    "app/controllers/orders_controller.rb": "class OrdersController\n  def show\n    @sum = order.total\n  end\nend\n",
    "public/lib/Mailer.php": _code("function send($to) { $this->transport->deliver($to); }", before=20),
    "native/lexer.c": _code("int lex(struct state *s) { return s->buffer[s->at]; }", before=87),
    "native/main.c": _code("int main(void) { return lex(0); }", before=11),
    "ios/Sources/Feed.swift": _code("let item = items[index]", before=41),
    "lib/shop/basket.ex": "defmodule Shop.Basket do\n  def fetch(map) do\n    Map.fetch!(map, :sku)\n  end\nend\n",
    "bin/import.pl": _code("die 'no header' unless $row;", before=19),
    "scripts/deploy.sh": "#!/bin/sh\nset -e\n\nrsyncc -a build/ web:/srv\n",
    "docs/migrations.md": "# Migrations\n\nThe table zebra_orders is made by migration 0042; run it first.\n",
    "docs/certificates.md": "# Certificates\n\nAfter x509: certificate signed by unknown authority, add the CA.\n",
    "docs/storage.md": "# Storage\n\nENOSPC, no space left on device: the watcher needs more inotify watches.\n",
    "docs/freezer.md": "# Freezer\n\nThe freezer stands at -18 degrees, the fridge at 7.\n",
    "docs/fridge.md": "# Fridge\n\nThe fridge and the freezer are cleaned in May.\n",
    "docs/proxy.md": "# Proxy\n\nnginx reports upstream prematurely closed connection while reading response header.\n",
    "log/conn.log": "connection from:10.1.2.3 to:10.9.8.7 refused by wombatd\n",
    "web/src/io.ts": "export function readBlob(path:string, type:number): Blob {\n  return openBlob(path, type);\n}\n",
    "web/src/button.ts": 'const button = {type:"submit", from:start, to:end};\n',
    "config/retry.json": '{"retry": {"maxAttempts": 5, "backoff": "exponential"}, "to": "dead-letter-queue"}\n',
    "config/compose.yaml": "services:\n  quagga:\n    image: quagga:2\n    ports: ['8443:443']\n",
    "docs/api.md": "# API\n\nGET https://api.example.org/v2/wombats/{id}?expand=burrow answers one wombat.\n",
    "sql/report.sql": "SELECT region, SUM(net) FROM invoices_q4\nWHERE net > 0 OR refunded = 1\nGROUP BY region;\n",
    **{
        f"notes/{n}.md": f"# Note {n}\n\nA note about bread, errors, sessions and tables, of file {n}.\n"
        for n in range(30)
    },
}

_LIBRARIES: Final = "".join(
    f'  File "/usr/lib/python3/dist-packages/sqlalchemy/engine/part{n}.py", line {n + 100}, in step_{n}\n'
    f"    return self._handle_step_{n}(context, statement_{n}, parameters_{n})\n"
    for n in range(30)
)
"""A trace that is longer than what may be looked for, none of it in the tree."""

_LOG: Final = "".join(
    f"2026-05-0{n % 9 + 1} 12:00:{n:02} INFO worker-{n} handled request {n * 7919} of session {n * 104729} in {n} ms\n"
    for n in range(60)
)

TEXTS: Final = (
    Pasted(
        "python",
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/runpy.py", line 196, in _run_module_as_main\n    return _run_code(code)\n'
        '  File "/srv/app/shop/orders/views.py", line 5, in show\n    return render(db.load(req.id))\n'
        "  File \"/srv/app/shop/orders/db.py\", line 5, in load\n    return connect().execute('SELECT', order_id)\n"
        "           ^^^^^^^^^^^^^^^^^^^\nsqlite3.OperationalError: database is locked\n",
        "shop/orders/db.py",
        5,
    ),
    Pasted(
        "python, none of its files",
        f"Traceback (most recent call last):\n{_LIBRARIES}sqlite3.OperationalError: no such table: zebra_orders\n",
        "docs/migrations.md",
    ),
    Pasted(
        "python, in the log of a container",
        "web-1  | Traceback (most recent call last):\n"
        'web-1  |   File "/app/orders/views.py", line 5, in show\nweb-1  |     return render(db.load(req.id))\n'
        "web-1  | AttributeError: 'Request' object has no attribute 'id'\n",
        "shop/orders/views.py",
        5,
    ),
    Pasted(
        "pytest",
        "    def test_total():\n>       assert total([]) == 0\nE       AssertionError: assert None == 0\n\n"
        "shop/orders/db.py:5: AssertionError\n",
        "shop/orders/db.py",
        5,
    ),
    Pasted(
        "node",
        "/srv/web/src/cart.js:12\n  return items.map((i) => i.price);\n               ^\n\n"
        "TypeError: Cannot read properties of undefined (reading 'map')\n"
        "    at total (/srv/web/src/cart.js:12:16)\n    at pay (/srv/web/src/checkout.ts:6:10)\n"
        "    at Module._compile (node:internal/modules/cjs/loader:1358:14)\n\nNode.js v20.11.0\n",
        "web/src/cart.js",
        12,
    ),
    Pasted(
        "node, in JSON",
        r'{"level":"error","stack":"TypeError: card is null\n    at pay (webpack:///./src/checkout.ts?1f3a:6:18)\n'
        r'    at run (webpack:///./node_modules/react/index.js?2b:1:1)"}',
        "web/src/checkout.ts",
        6,
    ),
    Pasted(
        "firefox",
        "TypeError: items is undefined\ntotal@http://localhost:3000/src/cart.js:12:16\n@http://localhost:3000/x.js:1:1\n",
        "web/src/cart.js",
        12,
    ),
    Pasted(
        "java",
        'Exception in thread "main" java.lang.IllegalStateException: order refused\n'
        "\tat com.acme.orders.OrderService.place(OrderService.java:41)\n"
        "\tat java.base/java.util.ArrayList.forEach(ArrayList.java:1596)\n"
        "Caused by: java.sql.SQLException: duplicate key\n"
        "\tat org.postgresql.core.v3.QueryExecutorImpl.receive(QueryExecutorImpl.java:2713)\n"
        "\tat com.acme.orders.OrderRepository.save(OrderRepository.java:17)\n\t... 12 more\n",
        "src/main/java/com/acme/orders/OrderRepository.java",
        17,
    ),
    Pasted(
        "kotlin",
        'Exception in thread "main" kotlin.UninitializedPropertyAccessException: lateinit property shop\n'
        "\tat com.acme.MainKt.main(Main.kt:3)\n\tat com.acme.MainKt.main(Main.kt)\n",
        "src/main/kotlin/com/acme/Main.kt",
        3,
    ),
    Pasted(
        "c#",
        "Unhandled exception. System.InvalidOperationException: The invoice is sealed.\n"
        "   at Microsoft.EntityFrameworkCore.DbContext.Add(Object entity)\n"
        "   at Billing.InvoiceStore.Save(Invoice i) in C:\\work\\Billing\\Invoices\\InvoiceStore.cs:line 58\n",
        "Billing/Invoices/InvoiceStore.cs",
        58,
    ),
    Pasted(
        "go",
        "panic: runtime error: index out of range [0] with length 0\n\ngoroutine 17 [running]:\n"
        "main.(*Handler).Serve(0xc000012345)\n\t/home/ci/shop/cmd/server/handler.go:88 +0x1d4\n"
        "created by net/http.(*Server).Serve\n\t/usr/local/go/src/net/http/server.go:3086 +0x5cb\nexit status 2\n",
        "cmd/server/handler.go",
        88,
    ),
    Pasted(
        "rust",
        "thread 'main' panicked at crates/engine/src/parser.rs:33:36:\n"
        "called `Option::unwrap()` on a `None` value\nnote: run with `RUST_BACKTRACE=1`\n",
        "crates/engine/src/parser.rs",
        33,
    ),
    Pasted(
        "rust, with its frames",
        "thread 'main' panicked at 'no token', crates/engine/src/parser.rs:33:36\nstack backtrace:\n"
        "   0: rust_begin_unwind\n             at /rustc/9fc6b431/library/std/src/panicking.rs:645:5\n"
        "   2: engine::parser::first\n             at ./crates/engine/src/parser.rs:33:17\n",
        "crates/engine/src/parser.rs",
        33,
    ),
    Pasted(
        "rustc",
        "error[E0308]: mismatched types\n  --> crates/engine/src/parser.rs:33:13\n   |\n"
        "33 |     let first = tokens.next().unwrap();\n",
        "crates/engine/src/parser.rs",
        33,
    ),
    Pasted(
        "ruby",
        "app/models/order.rb:3:in `total': undefined method `sum' for nil:NilClass (NoMethodError)\n"
        "\tfrom app/controllers/orders_controller.rb:3:in `show'\n"
        "\tfrom /usr/lib/ruby/gems/3.2.0/gems/rack-3.0/lib/rack/show.rb:22:in `call'\n",
        "app/models/order.rb",
        3,
    ),
    Pasted(
        "php",
        "PHP Fatal error:  Uncaught RuntimeException: no transport in /var/www/public/lib/Mailer.php:21\nStack trace:\n"
        "#0 /var/www/public/index.php(9): Mailer->send()\n#1 {main}\n"
        "  thrown in /var/www/public/lib/Mailer.php on line 21\n",
        "public/lib/Mailer.php",
        21,
    ),
    Pasted(
        "gdb",
        "Program received signal SIGSEGV, Segmentation fault.\n"
        "0x0000555555555131 in lex (s=0x0) at native/lexer.c:88\n88\tint lex(struct state *s)\n"
        "#0  0x0000555555555131 in lex (s=0x0) at native/lexer.c:88\n#1  0x000055 in main () at native/main.c:12\n",
        "native/lexer.c",
        88,
    ),
    Pasted(
        "sanitizer",
        "==4242==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000051\n"
        "    #0 0x4f2b1c in __interceptor_strlen /llvm/asan_interceptors.cpp:370:5\n"
        "    #1 0x4f7a in lex /build/native/lexer.c:88:34\n    #2 0x4f7b in main /build/native/main.c:12:25\n",
        "native/lexer.c",
        88,
    ),
    Pasted(
        "swift",
        "Shop/Feed.swift:42: Fatal error: Index out of range\n2026-05-01 Shop[77:1] Fatal error\n",
        "ios/Sources/Feed.swift",
        42,
    ),
    Pasted(
        "elixir",
        "** (KeyError) key :sku not found in: %{}\n    (elixir 1.16.0) lib/map.ex:535: Map.fetch!/2\n"
        "    (shop 0.1.0) lib/shop/basket.ex:3: Shop.Basket.fetch/1\n",
        "lib/shop/basket.ex",
        3,
    ),
    Pasted(
        "perl",
        "no header at bin/import.pl line 20.\nmain::read_all() called at bin/import.pl line 31\n",
        "bin/import.pl",
        20,
    ),
    Pasted("shell", "scripts/deploy.sh: line 4: rsyncc: command not found", "scripts/deploy.sh", 4),
    Pasted("grep", "web/src/checkout.ts:6:  return gateway.charge(card);", "web/src/checkout.ts", 6),
    Pasted(
        "a log, the message last",
        f"{_LOG}2026-05-09 12:01:00 ERROR worker-3 x509: certificate signed by unknown authority\n",
        "docs/certificates.md",
    ),
    Pasted(
        "a log, the message in its middle",
        f"{_LOG}ERROR upstream prematurely closed connection while reading response header\n{_LOG}",
        "docs/proxy.md",
    ),
    Pasted(
        "a message", "Error: ENOSPC: System limit for number of file watchers reached, watch '/x'", "docs/storage.md"
    ),
    Pasted("a line of a log", "connection from:10.1.2.3 to:10.9.8.7 refused", "log/conn.log"),
    Pasted("a signature", "readBlob(path:string, type:number)", "web/src/io.ts"),
    Pasted("a signature with blanks", "function readBlob( path:string, type:number )", "web/src/io.ts"),
    Pasted("an object", '{type:"submit", from:start, to:end}', "web/src/button.ts"),
    Pasted("json", '{"retry": {"maxAttempts": 5, "backoff": "exponential"}, "to": "x"}', "config/retry.json"),
    Pasted("yaml", "quagga:\n  image: quagga:2\n  ports: ['8443:443']", "config/compose.yaml"),
    Pasted("an address", "https://api.example.org/v2/wombats/42?expand=burrow", "docs/api.md"),
    Pasted("sql", "SELECT region, SUM(net)\nFROM invoices_q4\nWHERE net > 0 OR refunded = 1", "sql/report.sql"),
    Pasted("a number below zero", "freezer -18", "docs/freezer.md"),
    Pasted("a number below zero with its unit", "-18 °C freezer", "docs/freezer.md"),
)
